import { topics as topicNames } from '@parley/contract'
import { createMetrics } from '@parley/server/core/metrics'
import { Topics } from '@parley/server/realtime/topic/topics'
import { expect, test } from 'vitest'
import { upTo } from '../../support/events.ts'
import {
  anyEvent,
  appId,
  chat,
  eventBytes,
  Listener,
  openHub,
  own,
  pass,
  stopTimers,
} from './fixture.ts'

/** The time for which a topic stays, and the parts of it that stay. */

test('a topic stays for as long as one subscriber is left, or another has come', async () => {
  stopTimers()
  const { hub, memory } = await openHub()
  const [ana, ben, cem] = [new Listener('ana'), new Listener('ben'), new Listener('cem')]
  const first = await ana.join(hub, chat)
  first.subscription.leave()
  await pass(20_000)
  const second = await ben.join(hub, chat)
  await cem.join(hub, chat)
  await pass(30_001)
  await hub.reconcile()
  hub.publish([memory.append(chat)])
  second.subscription.leave()
  await pass(30_001)
  await hub.reconcile()
  hub.publish([memory.append(chat)])
  expect([ana, ben, cem].map(({ received }) => received)).toEqual([[], [1], [1, 2]])
})

test('a topic is followed from the first subscription on until it is gone', () => {
  const calls: string[] = []
  const interest = {
    follow: (topic: string) => void calls.push(`follow ${topic}`),
    unfollow: (topic: string) => void calls.push(`unfollow ${topic}`),
    settled: () => undefined,
  }
  const options = {
    metrics: createMetrics(),
    eventMemoryBytes: 1_000,
    interest,
    onReset: () => {},
  }
  const topics = new Topics(options, () => {})
  const topic = topics.open('talk')
  expect(topics.open('talk')).toBe(topic)
  topics.remove(topic)
  topics.remove(topic)
  expect(calls).toEqual(['follow talk', 'unfollow talk'])
})

test('ephemeral events that wait for a gap are sent when the memory is needed', async () => {
  const { hub, memory } = await openHub()
  const ana = new Listener()
  await ana.join(hub, chat)
  const release = memory.hold()
  memory.append(chat)
  hub.handleHint(chat, 1)
  hub.broadcast([chat], anyEvent)
  expect(ana.received).toEqual([])
  hub.forgetEvents(chat)
  expect(ana.received).toEqual([anyEvent.type])
  release()
  await pass()
  expect(ana.received).toEqual([anyEvent.type, 1])
})

test('a subscribe that fails leaves no subscription beside those of others', async () => {
  const { hub, memory } = await openHub()
  await new Listener('ben').join(hub, chat)
  memory.failure = new Error('the database is away')
  await expect(new Listener('ana').join(hub, chat)).rejects.toThrow('away')
  expect(hub.topics.get(chat)?.subscriptions.size).toBe(1)
})

test('a topic removed while its gap is read does not stop the events of others', async () => {
  const { hub, memory } = await openHub()
  const ana = new Listener()
  const { subscription } = await ana.join(hub, own)
  await ana.join(hub, chat)
  for (const topic of [own, chat]) memory.append(topic)
  const release = memory.hold()
  for (const topic of [own, chat]) hub.handleHint(topic, 1)
  await pass()
  hub.topics.remove(subscription.topic)
  release()
  await pass()
  expect(memory.reads).toEqual([
    [
      [own, 0],
      [chat, 0],
    ],
  ])
  expect(ana.received).toEqual([1])
})

test.each(['a hint', 'a comparison'])(
  'a read after %s that was cut before the events of a topic is followed by another',
  async (reason) => {
    const { hub, memory } = await openHub()
    const ana = new Listener()
    await ana.join(hub, chat)
    const { readAfter } = memory.log
    memory.log.readAfter = async () => {
      memory.log.readAfter = readAfter
      return { publications: [], isCut: true }
    }
    memory.append(chat)
    if (reason === 'a hint') hub.handleHint(chat, 1)
    else await hub.reconcile()
    await pass()
    expect([ana.received, ana.ended]).toEqual([[1], []])
  },
)

test('a topic that is gone is not read again because a read was cut', async () => {
  const { hub, memory } = await openHub()
  const { subscription } = await new Listener().join(hub, chat)
  const release = memory.hold()
  const { readAfter } = memory.log
  memory.log.readAfter = async (positions) => {
    await readAfter(positions)
    if (memory.reads.length > 1) await new Promise(() => {}) // or it would be read for ever
    return { publications: [], isCut: true }
  }
  memory.append(chat)
  hub.handleHint(chat, 1)
  await pass()
  hub.topics.remove(subscription.topic)
  release()
  await pass()
  expect(memory.reads).toHaveLength(1)
})

test('events that came early count once, whichever way they were delivered', async () => {
  const { hub, memory } = await openHub()
  const ana = new Listener()
  await ana.join(hub, chat)
  hub.publish(memory.appendSeveral(chat, 3))
  const bytes = await eventBytes()
  const late = memory.appendSeveral(chat, 3)
  hub.publish(late.toReversed())
  expect(ana.received).toEqual(upTo(6))
  expect(await eventBytes()).toBe(2 * bytes)
})

test('publications to a topic that was removed take no memory', async () => {
  const { hub, memory } = await openHub()
  const { subscription } = await new Listener().join(hub, chat)
  hub.topics.remove(subscription.topic)
  const { topic: _, ...publication } = memory.append(chat)
  subscription.topic.accept(publication)
  expect(await eventBytes()).toBe(0)
})

test('a refused subscribe does not remove the topic that another one waits for', async () => {
  const { hub, memory } = await openHub()
  memory.excluded.add('eve')
  const answer = memory.hold()
  const [eve, ana] = [new Listener('eve'), new Listener('ana')]
  const refused = expect(eve.join(hub, chat)).rejects.toThrow('may not read')
  const joined = ana.join(hub, chat)
  answer()
  await Promise.all([refused, joined])
  hub.publish([memory.append(chat)])
  expect(ana.received).toEqual([1])
})

test('a topic without subscribers for half a minute is freed', async () => {
  stopTimers()
  const { hub } = await openHub()
  const { subscription } = await new Listener().join(hub, chat)
  subscription.leave()
  await pass(30_001)
  await hub.reconcile()
  expect(hub.topics.get(chat)).toBeUndefined()
})

test('no topic is left out when there are more than are compared at a time', async () => {
  const { hub, memory } = await openHub()
  const ana = new Listener()
  const idOf = (n: number) => `019c9b1e-7a52-7cc1-8f0e-${String(n).padStart(12, '0')}`
  const names = upTo(1_001).map((n) => topicNames.channel(appId, idOf(n)))
  for (const name of names) await ana.join(hub, name)
  for (const name of names) memory.append(name)
  await hub.reconcile()
  for (const _ of upTo(3)) await pass()
  expect(ana.received).toEqual(names.map(() => 1))
  memory.excluded.add(ana.userId)
  await hub.recheck(ana, names)
  expect(ana.ended).toEqual(names.map(() => 'no longer allowed'))
})
