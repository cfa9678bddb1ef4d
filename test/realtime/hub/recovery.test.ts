import { parseTopic } from '@parley/contract'
import { expect, test } from 'vitest'
import { upTo } from '../../support/events.ts'
import {
  anyEvent,
  appId,
  channelId,
  chat,
  Listener,
  openHub,
  own,
  pass,
  stopTimers,
} from './fixture.ts'

/** The hub remembers at most this many events and characters of a topic. */
const MEMORY = 256
const MEMORY_CHARACTERS = 256 * 1024

/** A topic with this many delivered events that are gone from the log. */
async function remembering(count: number) {
  const opened = await openHub()
  await new Listener('first').join(opened.hub, chat)
  opened.hub.publish(opened.memory.appendSeveral(chat, count))
  opened.memory.forget(chat, count)
  return { ...opened, second: new Listener('second') }
}

test.each([
  [MEMORY - 1, true],
  [MEMORY, true],
  [MEMORY + 1, false],
])('a client that missed %i events recovers from memory: %s', async (missed, isRemembered) => {
  const { hub, second } = await remembering(MEMORY + 10)
  const after = MEMORY + 10 - missed
  const { wasRecovered, position } = await second.join(hub, chat, after)
  expect(wasRecovered).toBe(isRemembered)
  expect(second.received).toEqual(isRemembered ? upTo(MEMORY + 10, after + 1) : [])
  expect(position.offset).toBe(isRemembered ? after : MEMORY + 10)
})

test.each([MEMORY - 1, MEMORY, MEMORY + 1])(
  'a client that missed %i events recovers them all while the log has them',
  async (missed) => {
    const { hub, memory } = await openHub()
    await new Listener('first').join(hub, chat)
    hub.publish(memory.appendSeveral(chat, MEMORY + 10))
    const second = new Listener('second')
    const after = MEMORY + 10 - missed
    const { wasRecovered, position } = await second.join(hub, chat, after)
    expect([wasRecovered, position.offset]).toEqual([true, after])
    expect(second.received).toEqual(upTo(MEMORY + 10, after + 1))
  },
)

test('a client that missed some remembered and some newer events recovers both', async () => {
  const { hub, memory, second } = await remembering(5)
  memory.appendSeveral(chat, 3)
  expect((await second.join(hub, chat, 2)).wasRecovered).toBe(true)
  expect(second.received).toEqual(upTo(8, 3))
})

test('events that other subscribers have not seen reach them by a recovery', async () => {
  const { hub, memory } = await openHub()
  const first = new Listener('first')
  await first.join(hub, chat)
  memory.appendSeveral(chat, 3)
  await new Listener('second').join(hub, chat, 1)
  await pass()
  expect(first.received).toEqual(upTo(3))
})

test('a first subscriber recovers from the log, or nothing when the log is too short', async () => {
  const { hub, memory } = await openHub()
  memory.appendSeveral(chat, 9)
  memory.forget(chat, 4)
  const [complete, partial] = [new Listener('complete'), new Listener('partial')]
  expect((await complete.join(hub, chat, 4)).wasRecovered).toBe(true)
  expect(complete.received).toEqual(upTo(9, 5))
  expect((await partial.join(hub, chat, 3)).wasRecovered).toBe(false)
  expect(partial.received).toEqual([])
})

test('an offset that the topic has not reached is not recovered', async () => {
  const { hub, second } = await remembering(5)
  const { wasRecovered, position } = await second.join(hub, chat, 6)
  expect([wasRecovered, position.offset]).toEqual([false, 5])
})

test('positions of an older epoch are not recovered once the database names another', async () => {
  const { hub, memory, second } = await remembering(5)
  memory.epochName = 'two'
  expect((await second.join(hub, chat, 4)).wasRecovered).toBe(false)
  expect(hub.epoch).toBe('two')
  const [stale] = await hub.subscribe(second, [
    { topic: chat, recover: { epoch: 'one', offset: 4 } },
  ])
  expect(stale).toMatchObject({ wasRecovered: false, position: { epoch: 'two', offset: 5 } })
  expect((await new Listener('third').join(hub, chat, 4)).wasRecovered).toBe(true)
})

test('memory of a topic is limited in characters too', async () => {
  const { hub, memory } = await openHub()
  await new Listener('first').join(hub, chat)
  const size = MEMORY_CHARACTERS / 4
  const events = [1, 2, 3, 4, 5].map(() => ({
    ...memory.append(chat),
    envelope: 'x'.repeat(size),
  }))
  hub.publish(events)
  memory.forget(chat, 5)
  expect((await new Listener().join(hub, chat, 0)).wasRecovered).toBe(false)
  expect((await new Listener().join(hub, chat, 1)).wasRecovered).toBe(true)
})

test('a deleted message is a tombstone in every event that is recovered from memory', async () => {
  const { hub, memory } = await openHub()
  await new Listener('first').join(hub, chat)
  const secret = { type: 'channel.total_unread_changed', payload: { count: 4711 } } as const
  const tombstone = { type: 'message.deleted', payload: { channelId } } as never // any payload
  hub.publish([
    memory.append(chat, secret, 'deleted'),
    memory.append(chat, anyEvent, 'kept'),
    memory.append(chat, secret, 'deleted'),
    memory.append(chat, anyEvent),
    memory.append(chat, tombstone, 'deleted'),
  ])
  const [subscribed] = await hub.subscribe(new Listener(), [
    { topic: chat, recover: { epoch: hub.epoch, offset: 0 } },
  ])
  expect(subscribed?.publications.map(({ offset, type }) => [offset, type])).toEqual([
    [1, 'message.deleted'],
    [2, anyEvent.type],
    [3, 'message.deleted'],
    [4, anyEvent.type],
    [5, 'message.deleted'],
  ])
  const envelopes = subscribed?.publications.map(({ envelope }) => envelope)
  expect(envelopes?.join()).not.toContain('4711')
})

test('a topic is remembered for 30 s after its last subscriber has left, then freed', async () => {
  stopTimers()
  const { hub, memory } = await openHub()
  const recovers = async () => {
    const { wasRecovered, subscription } = await new Listener().join(hub, chat, 0)
    subscription.leave()
    return wasRecovered
  }
  const { subscription } = await new Listener().join(hub, chat)
  hub.publish(memory.appendSeveral(chat, 3))
  memory.forget(chat, 3)
  await pass(60_000)
  await hub.reconcile()
  expect(await recovers()).toBe(true)
  subscription.leave()
  await pass(30_000)
  await hub.reconcile()
  expect(await recovers()).toBe(true)
  await pass(30_001)
  await hub.reconcile()
  expect(await recovers()).toBe(false)
})

test('events delivered more than five minutes ago are recovered from the log only', async () => {
  stopTimers()
  const { hub, memory } = await openHub()
  await new Listener().join(hub, chat)
  hub.publish(memory.appendSeveral(chat, 2))
  memory.forget(chat, 2)
  await pass(300_000)
  hub.publish([memory.append(chat)])
  const recovers = async (after: number) =>
    (await new Listener().join(hub, chat, after)).wasRecovered
  expect(await recovers(1)).toBe(true)
  await pass(1)
  expect(await recovers(1)).toBe(false)
  expect(await recovers(2)).toBe(true)
})

test('a subscribe that the database fails leaves nothing behind and can be repeated', async () => {
  const { hub, memory } = await openHub()
  memory.failure = new Error('out of reach')
  const listener = new Listener()
  await expect(listener.join(hub, chat)).rejects.toThrow('out of reach')
  memory.failure = undefined
  await listener.join(hub, chat)
  hub.publish([memory.append(chat)])
  expect(listener.received).toEqual([1])
})

test('a user can subscribe only to channels of their app and to their own topic', async () => {
  const { hub } = await openHub()
  const listener = new Listener()
  const topics = [
    `user:${appId}:ben`,
    `chat:${channelId}:${channelId}`,
    `chat:${appId}:nonsense`,
    `user:${channelId}:ana`,
    'chat',
    own,
    chat,
  ]
  const results = await hub.subscribe(
    listener,
    topics.map((topic) => ({ topic, recover: null })),
  )
  expect(results.map((result) => result !== null)).toEqual([
    ...[false, false, false, false, false],
    ...[true, true],
  ])
  expect(await hub.authorise(listener, topics)).toEqual(topics.map(() => null))
  expect(parseTopic(`chat:${appId}:nonsense`)).toBeNull()
})
