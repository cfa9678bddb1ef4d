import { limits } from '@parley/contract'
import { beforeEach, expect, test } from 'vitest'
import { walkBounded } from './support/bounded-answer.ts'
import { upTo } from './support/events.ts'
import { insertUsers } from './support/inserted.ts'
import { createTalk } from './support/large-answers.ts'
import { type User, useSharedWorld } from './support/world.ts'

const world = useSharedWorld()
const { answerBytes } = limits

let ana: User
beforeEach(async () => {
  ana = await world().user('ana')
})

test('a message of over a megabyte has a page to itself', async () => {
  const { channelId } = await createTalk(world(), ana, 3)
  await world().db`
    update messages
    set custom = jsonb_build_object('words', repeat('x', ${answerBytes}))
    where channel_id = ${channelId}
      and seq = 3`
  const list = async (before?: string) => {
    const { messages, hasMore } = await ana.messages.list({ channelId, before })
    return { messages, seqs: messages.map(({ seq }) => seq), hasMore }
  }
  const last = await list()
  expect([last.seqs, last.hasMore]).toEqual([[4], true])
  const large = await list(last.messages[0]?.id)
  expect([large.seqs, large.hasMore]).toEqual([[3], true])
  expect(Buffer.byteLength(JSON.stringify(large.messages))).toBeGreaterThan(answerBytes)
  expect((await list(large.messages[0]?.id)).seqs).toEqual([1, 2])
})

test('reactions, images and quotes count towards a page', async () => {
  const { db, appId } = world()
  const { channelId, rootId } = await createTalk(world(), ana, 24)
  const ids = await insertUsers(world(), 'fan-', limits.reactionUsers)
  const image = `https://example.com/${'😀'.repeat(limits.urlLength - 20)}`
  await db`
    update users
    set image = ${image}
    where app_id = ${appId}
      and (id = ${ana.id} or id = any(${ids}))`
  await db`
    update messages
    set quoted_id = ${rootId}
    where channel_id = ${channelId}
      and seq > 1`
  await db`
    insert into reactions (app_id, message_id, emoji, user_id)
    select ${appId}, msg.id, ':' || n || ':', given
    from messages msg, generate_series(1, ${limits.reactionKinds}) n, unnest(${ids}::text[]) given
    where msg.channel_id = ${channelId}
      and msg.seq > 1`
  const path = `channels/${channelId}/messages`
  const pages = await walkBounded(world(), ana, { path, direction: 'before' })
  // 40 KB of text, 64 KB of reactions, two images of 8 KB, and their names.
  expect(pages.map(({ length }) => length)).toEqual([8, 8, 9])
  expect(pages.toReversed().flat()).toEqual(upTo(25))
})
