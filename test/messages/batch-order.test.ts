import { limits } from '@parley/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabaseProxy } from '../support/database-proxy.ts'
import { upTo } from '../support/events.ts'
import { createWorld, type User, useWorld, type World } from '../support/world.ts'

/** Messages that a client sends together after being offline stay in order, even if refused. */

const world = useWorld()
let proxy: Awaited<ReturnType<typeof openDatabaseProxy>>
let node: World
let ana: User

beforeAll(async () => {
  proxy = await openDatabaseProxy(world().databaseUrl)
  node = await createWorld({ databaseUrl: proxy.url, poolSize: 3 })
  ana = await node.user('ana')
})
afterAll(async () => {
  await node?.stop()
  proxy?.stop()
})

type Draft = { text: string; clientId: string }

/** Sends as a client does: what may be stored later is sent again, with what is behind it. */
async function sendAll(channelId: string, drafts: Draft[]) {
  let left = drafts
  while (left.length > 0) {
    const sent = await ana.messages.sendBatch({ channelId, messages: left }).catch(() => undefined)
    left = left.filter((_, index) => sent?.results[index]?.message === undefined)
  }
  const { messages } = await ana.messages.list({ channelId, limit: limits.page.messages.max })
  return messages.map(({ text }) => text)
}

test('a connection that is lost anywhere in a batch leaves its messages in order', async () => {
  const texts = upTo(30).map(String)
  let isOver = false
  for (let answer = 1; !isOver; answer++) {
    for (const isDelivered of [false, true]) {
      const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
      const drafts = texts.map((text) => ({ text, clientId: `${channelId} ${text}` }))
      const before = proxy.lostCount()
      proxy.closeAt({ answer, isDelivered })
      expect([answer, await sendAll(channelId, drafts)]).toEqual([answer, texts])
      isOver = proxy.lostCount() === before
      proxy.closeAt(undefined)
    }
  }
})
