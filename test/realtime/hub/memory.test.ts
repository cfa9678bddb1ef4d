import { topics } from '@parley/contract'
import { expect, test } from 'vitest'
import { upTo } from '../../support/events.ts'
import { anyEvent, appId, eventBytes, Listener, openHub, pass } from './fixture.ts'

const topicOf = (user: string) => topics.user(appId, user)
/** The memory has room for four events of each of two topics, and a little more. */
const LONG = { ...anyEvent, padding: 'x'.repeat(1_000) }
const EVENTS = 4
const LENGTH = JSON.stringify(LONG).length
const ROOM = 2 * (2 * EVENTS * LENGTH) + LENGTH

/** A hub with little memory, where these users have been sent four long events each. */
async function openSmallHub(users: string[]) {
  const parts = await openHub({ eventMemoryBytes: ROOM })
  const listeners = new Map<string, Listener>()
  for (const user of users) {
    const listener = new Listener(user)
    await listener.join(parts.hub, topicOf(user))
    listeners.set(user, listener)
    publish(parts, user)
  }
  return { ...parts, listeners }
}

type Parts = Awaited<ReturnType<typeof openHub>>
const publish = ({ hub, memory }: Parts, user: string, count = EVENTS) => {
  for (let sent = 0; sent < count; sent++) hub.publish([memory.append(topicOf(user), LONG)])
}
/** How many events a user gets from the log, of those that they missed. */
async function readFromLog({ hub, memory }: Parts, user: string) {
  const before = memory.recovered
  const listener = new Listener(user)
  const { subscription } = await listener.join(hub, topicOf(user), 0)
  expect(listener.received).toEqual(upTo(memory.lastOffset(topicOf(user))))
  subscription.leave()
  return memory.recovered - before
}

test('topics share one memory, and those used least recently recover from the log', async () => {
  const parts = await openSmallHub(['ana', 'ben', 'cem'])
  expect(await eventBytes()).toBeLessThanOrEqual(ROOM)
  // Used in this order: each look is a use, but what was evicted stays so.
  expect(await readFromLog(parts, 'ana')).toBe(EVENTS)
  expect(await readFromLog(parts, 'ben')).toBe(0)
  publish(parts, 'dora')
  await new Listener('dora').join(parts.hub, topicOf('dora'))
  publish(parts, 'dora')
  expect(await readFromLog(parts, 'ben')).toBe(0)
  expect(await readFromLog(parts, 'cem')).toBe(EVENTS)
})

test('a topic whose events were evicted delivers what comes next', async () => {
  const parts = await openSmallHub(['ana', 'ben', 'cem'])
  publish(parts, 'ana', 2)
  expect(parts.listeners.get('ana')?.received).toEqual(upTo(EVENTS + 2))
})

test('events that came too early stay within the memory, and are delivered in order', async () => {
  const parts = await openSmallHub(['ana'])
  const { hub, memory, listeners } = parts
  const release = memory.hold()
  const lost = memory.append(topicOf('ana'), LONG)
  const early = Array.from({ length: 30 }, () => memory.append(topicOf('ana'), LONG))
  hub.broadcast([topicOf('ana')], anyEvent)
  hub.publish(early)
  expect(await eventBytes()).toBeLessThanOrEqual(ROOM)
  const before = await eventBytes()
  hub.publish(early.slice(-1))
  hub.publish(early.slice(-1))
  expect(await eventBytes()).toBe(before)
  release()
  hub.handleHint(lost.topic, early.length + EVENTS + 1)
  await pass()
  const durable = listeners.get('ana')?.received.filter((each) => each !== anyEvent.type)
  expect(durable).toEqual(upTo(early.length + EVENTS + 1))
})

test('ephemeral events count while they wait for a gap, and no longer', async () => {
  const { hub, memory, listeners } = await openSmallHub(['ana'])
  const before = await eventBytes()
  const release = memory.hold()
  memory.append(topicOf('ana'))
  hub.handleHint(topicOf('ana'), EVENTS + 1)
  hub.broadcast([topicOf('ana')], anyEvent)
  const held = await eventBytes()
  expect(held).toBeGreaterThan(before)
  release()
  await pass()
  expect(listeners.get('ana')?.received.at(-1)).toBe(anyEvent.type)
  // The durable event that was missing is as long as the ephemeral one.
  expect(await eventBytes()).toBe(held)
})

test('the events of a topic that is gone are not counted', async () => {
  const { hub, memory, listeners } = await openSmallHub(['ana', 'ben'])
  const before = await eventBytes()
  memory.forget(topicOf('ana'), EVENTS + 1)
  memory.append(topicOf('ana'))
  memory.append(topicOf('ana'))
  memory.forget(topicOf('ana'), EVENTS + 1)
  hub.handleHint(topicOf('ana'), EVENTS + 2)
  await pass()
  expect(listeners.get('ana')?.ended).toEqual(['insufficient state'])
  expect(await eventBytes()).toBe(before / 2)
})

test('an event that became a tombstone counts with the size of the tombstone', async () => {
  const { hub, memory } = await openHub()
  await new Listener('ana').join(hub, topicOf('ana'))
  const deletedAt = new Date(0).toISOString()
  const payload = { channelId: '1', messageId: 'm', seq: 1, deletedAt }
  hub.publish([memory.append(topicOf('ana'), LONG, 'm')])
  const deletion = memory.append(topicOf('ana'), { type: 'message.deleted', payload }, 'm')
  hub.publish([deletion])
  // Both are the tombstone now. A character has two bytes.
  expect(await eventBytes()).toBe(2 * 2 * deletion.envelope.length)
})
