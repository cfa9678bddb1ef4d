import type { Envelope } from '@parley/contract'
import { expect, test } from 'vitest'
import { upTo } from '../../support/events.ts'
import { channelId, chat, Listener, openHub, own, pass } from './fixture.ts'

const deleted: Envelope = { type: 'channel.deleted', payload: { channelId } }
const total: Envelope = { type: 'channel.total_unread_changed', payload: { count: 1 } }

test('an ephemeral event does not overtake a durable one that is read from the log', async () => {
  const { memory, hub } = await openHub()
  const listener = new Listener()
  await listener.join(hub, own)
  const { offset } = memory.append(own)
  // Another node has added the user to a channel, and deletes that channel.
  hub.handleHint(own, offset)
  hub.broadcast([own], deleted)
  expect(listener.received).toEqual([])
  await pass()
  expect(listener.received).toEqual([1, 'channel.deleted'])
})

test('ephemeral events wait only for the durable ones that were known when they came', async () => {
  const { memory, hub } = await openHub()
  const listener = new Listener()
  await listener.join(hub, own)
  const events = memory.appendSeveral(own, 3)
  const publish = (offset: number) => hub.publish(events.filter((each) => each.offset === offset))
  hub.handleHint(own, 1)
  hub.broadcast([own], deleted)
  hub.handleHint(own, 3)
  hub.broadcast([own], total)
  publish(1)
  expect(listener.received).toEqual([1, deleted.type])
  publish(3)
  publish(2)
  expect(listener.received).toEqual([1, deleted.type, 2, 3, total.type])
})

test('an ephemeral event is delivered at once when no durable one is missing', async () => {
  const { memory, hub } = await openHub()
  const listener = new Listener()
  hub.broadcast([own], deleted)
  await listener.join(hub, own)
  hub.broadcast([own, 'user:unknown'], total)
  hub.publish([memory.append(own)])
  hub.broadcast([own], total)
  expect(listener.received).toEqual([total.type, 1, total.type])
})

test('a held ephemeral event is not for a subscriber who came after it', async () => {
  const { memory, hub } = await openHub()
  const [early, late] = [new Listener(), new Listener()]
  await early.join(hub, own)
  memory.failure = new Error('out of reach')
  hub.handleHint(own, memory.append(own).offset)
  hub.broadcast([own], total)
  await pass()
  memory.failure = undefined
  await late.join(hub, own)
  hub.handleHint(own, 1)
  await pass()
  expect(early.received).toEqual([1, total.type])
  expect(late.received).not.toContain(total.type)
})

test('an ephemeral event of one topic does not wait for the gap of another', async () => {
  const { memory, hub } = await openHub()
  const listener = new Listener()
  await listener.join(hub, own)
  await listener.join(hub, chat)
  hub.handleHint(chat, memory.append(chat).offset)
  hub.broadcast([own], total)
  expect(listener.received).toEqual([total.type])
})

test('a gap that stays open holds back 1,000 ephemeral events, in order, and no more', async () => {
  const { memory, hub, problems } = await openHub()
  const listener = new Listener()
  await listener.join(hub, own)
  memory.failure = new Error('out of reach')
  hub.handleHint(own, memory.append(own).offset)
  hub.broadcast([own], deleted)
  for (let count = 1; count < 1_000; count++) hub.broadcast([own], total)
  await pass()
  expect(problems).toEqual(['gap read failed'])
  expect(listener.received).toEqual([])
  hub.broadcast([own], total)
  expect(listener.received).toEqual([deleted.type, ...upTo(999).map(() => total.type)])
  memory.failure = undefined
  await hub.reconcile()
  await pass()
  expect(listener.received.slice(1_000)).toEqual([1, total.type])
})

test('an ephemeral event for one user reaches no other, even after a gap', async () => {
  const { memory, hub } = await openHub()
  const [ana, ben] = [new Listener('ana'), new Listener('ben')]
  for (const each of [ana, ben]) await each.join(hub, chat)
  hub.broadcast([chat], total, 'ana')
  hub.handleHint(chat, memory.append(chat).offset)
  hub.broadcast([chat], total, 'ben')
  await pass()
  expect(ana.received).toEqual([total.type, 1])
  expect(ben.received).toEqual([1, total.type])
})

test('an event for one user costs nothing for the subscriptions of others', async () => {
  const { hub } = await openHub()
  let asked = 0
  const counted = () => {
    const get = () => {
      asked += 1
      return 'ana'
    }
    return Object.defineProperty(new Listener(), 'userId', { get })
  }
  const ben = new Listener('ben')
  for (const each of [...upTo(100).map(counted), ben]) await each.join(hub, chat)
  hub.broadcast([chat], total, 'ben')
  asked = 0
  hub.broadcast([chat], total, 'ben')
  expect([asked, ben.received]).toEqual([0, [total.type, total.type]])
})

test('an event for one user reaches those of their subscriptions that are there now', async () => {
  const { hub } = await openHub()
  const [first, second, third] = [new Listener(), new Listener(), new Listener()]
  const [leaving] = [await first.join(hub, chat), await second.join(hub, chat)]
  hub.broadcast([chat], total, 'ana')
  await third.join(hub, chat)
  leaving.subscription.leave()
  hub.broadcast([chat], total, 'ana')
  const counts = [first, second, third].map(({ received }) => received.length)
  expect(counts).toEqual([1, 2, 1])
  expect([...(hub.topics.get(chat)?.subscriptions.of('ana') ?? [])]).toHaveLength(2)
})

test('ephemeral events that precede the answer to a subscribe are delivered after it', async () => {
  const { memory, hub } = await openHub()
  const listener = new Listener()
  const answer = memory.hold()
  const joined = listener.join(hub, own, 0)
  hub.broadcast([own], total)
  answer()
  await joined
  expect(listener.received).toEqual([total.type])
})
