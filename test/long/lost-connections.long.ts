import { isChatError } from '@parley/client'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabaseProxy } from '../support/database-proxy.ts'
import { watchForDeath } from '../support/deaths.ts'
import { createWorld, useWorld } from '../support/world.ts'

const LOSSES = 1_000
const SENDERS = 8
const world = useWorld()

test('a thousand lost connections under load end no process and lose nothing', async () => {
  const deaths = watchForDeath()
  const proxy = await openDatabaseProxy(world().databaseUrl)
  const node = await createWorld({ databaseUrl: proxy.url, poolSize: SENDERS })
  onTestFinished(async () => {
    await node.stop()
    proxy.stop()
  })
  const ana = await node.user('ana')
  const closeSomewhere = () =>
    proxy.closeAt({ answer: 1 + Math.floor(Math.random() * 6), isDelivered: Math.random() < 0.5 })
  const began = performance.now()
  let refusals = 0
  const chat = async (channelId: string) => {
    let sent = 0
    for (let n = 1; proxy.lostCount() < LOSSES; n++) {
      const clientId = `${channelId}-${n}`
      for (let isSent = false; !isSent; ) {
        closeSomewhere()
        isSent = await ana.messages.send({ channelId, text: 'hi', clientId }).then(
          () => true,
          (error: unknown) => {
            if (!isChatError(error, 'UNAVAILABLE')) throw error
            refusals += 1
            return false
          },
        )
      }
      sent += 1
    }
    return { channelId, sent }
  }
  const channelIds: string[] = []
  for (let sender = 0; sender < SENDERS; sender++)
    channelIds.push((await ana.channels.create({ type: 'group', name: 'Talk' })).id)
  const done = await Promise.all(channelIds.map(chat))
  proxy.closeAt(undefined)
  const seconds = Math.round((performance.now() - began) / 1000)
  const total = done.reduce((sum, { sent }) => sum + sent, 0)
  console.log(
    `${proxy.lostCount()} connections lost in ${seconds} s: ${deaths.length} deaths, ` +
      `${total} sends acknowledged, ${refusals} refused`,
  )
  expect(deaths).toEqual([])
  for (const { channelId, sent } of done) {
    const rows = await world().db<{ seq: number }[]>`
      select seq
      from messages
      where channel_id = ${channelId}
      order by seq`
    expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: sent }, (_, i) => i + 1))
  }
})
