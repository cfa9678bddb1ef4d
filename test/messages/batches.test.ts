import { beforeEach, expect, test, vi } from 'vitest'
import { stopClock } from '../support/clock.ts'
import { channelEventsOf, upTo } from '../support/events.ts'
import { whileLocked } from '../support/locks.ts'
import { badToken, forbidden, notFound, refusal } from '../support/refusal.ts'
import { patient } from '../support/until.ts'
import { type User, useSharedWorld } from '../support/world.ts'
import { talkIn } from './fixture.ts'

const world = useSharedWorld()
const talk = talkIn(world)

/** How many requests have reached the server. */
let requests = 0
beforeEach(() => {
  const { server } = world().app
  const count = () => {
    requests += 1
  }
  server.on('request', count)
  return () => void server.off('request', count)
})

/**
 * Makes calls that wait while an earlier message holds the channel, so that they are carried out
 * together. Returns what they resolve to.
 */
async function inOneBatch<T>(
  { user, channelId }: { user: User; channelId: string },
  makeCalls: () => Promise<T>[],
) {
  const { earlier, calls } = await whileLocked(world(), channelId, async (waiting) => {
    const earlier = user.messages.send({ channelId, text: 'earlier' })
    await waiting(1)
    const before = requests
    const calls = makeCalls()
    await vi.waitUntil(() => requests === before + calls.length, patient)
    // Once a later call has asked the database, the earlier ones wait for the channel.
    await user.channels.list()
    return { earlier, calls }
  })
  await earlier
  return Promise.all(calls)
}

/** The messages of a channel after the first, with the number of transactions that stored them. */
const storedIn = async (channelId: string) => {
  const rows = await world().db<{ seq: number; text: string; transaction: string }[]>`
    select seq, text, xmin::text as transaction
    from messages
    where channel_id = ${channelId} and seq > 1
    order by seq`
  return {
    texts: rows.map(({ text }) => text),
    transactions: new Set(rows.map(({ transaction }) => transaction)).size,
  }
}

test('a refused message does not fail the others of its batch', async () => {
  const { ana, ben, cem, channelId } = await talk()
  const gone = await world().user('gone')
  await ana.members.add({ channelId, userIds: ['gone'] })
  // Their tokens are known, and stay so: no send asks the database before it waits.
  stopClock()
  await Promise.all([ana, ben, cem, gone].map((user) => user.channels.list()))
  const { db, appId } = world()
  await db`
    update users
    set deleted_at = now()
    where app_id = ${appId}
      and id = 'gone'`
  const send = (user: User, text: string, more: { parentId?: string } = {}) =>
    user.messages.send({ channelId, text, ...more })
  const parentId = '019c9b1f-02d4-7d3a-9a53-6f1c2e4b8d90'
  const results = await inOneBatch({ user: ana, channelId }, (): Promise<unknown>[] => [
    send(ana, 'good'),
    refusal(send(ana, 'a reply to nothing', { parentId })),
    send(ben, 'good'),
    refusal(send(cem, 'by no member')),
    refusal(send(gone, 'by a deleted user')),
    send(ben, 'good'),
  ])
  expect(results[1]).toEqual(notFound)
  expect(results.slice(3, 5)).toEqual([forbidden, badToken])
  expect(await storedIn(channelId)).toEqual({ texts: ['good', 'good', 'good'], transactions: 1 })
  const { rev } = await ana.channels.get({ channelId })
  expect((await channelEventsOf(world(), channelId)).map(({ offset }) => offset)).toEqual(upTo(rev))
})

test('each message of a batch says how far its author has read after it', async () => {
  const { ana, channelId } = await talk()
  const send = () => ana.messages.send({ channelId, text: 'hello' })
  await inOneBatch({ user: ana, channelId }, () => [send(), send(), send()])
  expect((await storedIn(channelId)).transactions).toBe(1)
  const events = await channelEventsOf(world(), channelId)
  const sent = events.filter(({ type }) => type === 'message.new')
  expect(sent.map(({ payload }) => payload.authorLastReadSeq)).toEqual([1, 2, 3, 4])
})

test('the first of two texts with one client id in a batch is stored', async () => {
  const { ana, ben, channelId } = await talk()
  const send = (user: User, text: string) =>
    user.messages.send({ channelId, text, clientId: 'same' })
  const [first, second, bens] = await inOneBatch({ user: ana, channelId }, () => [
    send(ana, 'try'),
    send(ana, 'try'),
    send(ben, 'of ben'),
  ])
  expect(second).toEqual(first)
  expect(bens?.text).toBe('of ben')
  // Only a batch that fails is run again, one message at a time.
  const { texts, transactions } = await storedIn(channelId)
  expect([texts.sort(), transactions]).toEqual([['of ben', 'try'], 1])
})

test('replies in one batch are all counted', async () => {
  const { ana, ben, channelId } = await talk()
  const { id: parentId } = await ana.messages.send({ channelId, text: 'root' })
  const send = (user: User) => user.messages.send({ channelId, text: 'reply', parentId })
  await inOneBatch({ user: ana, channelId }, () => [send(ana), send(ben), send(ana)])
  expect((await ana.messages.get({ channelId, messageId: parentId })).replyCount).toBe(3)
  const emitted = (await channelEventsOf(world(), channelId)).flatMap(({ payload }) =>
    payload.parent ? [payload.parent] : [],
  )
  expect(emitted).toEqual(upTo(3).map((replyCount) => ({ id: parentId, replyCount })))
})

test('a channel that is held up delays no other channel', async () => {
  const { ana, channelId } = await talk()
  const other = await talk()
  const { held } = await whileLocked(world(), channelId, async (waiting) => {
    const held = ana.messages.send({ channelId, text: 'held' })
    await waiting(1)
    const first = await Promise.race([other.say('at once'), held])
    expect(first.text).toBe('at once')
    return { held }
  })
  await held
})
