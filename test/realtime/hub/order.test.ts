import type { StoredEvent } from '@parley/server/core/event-buffer'
import { expect, test } from 'vitest'
import { upTo } from '../../support/events.ts'
import {
  chat,
  delivered,
  Listener,
  openHub,
  pass,
  permutations,
  secondsFromOthers,
  stopTimers,
} from './fixture.ts'

const five = upTo(5)

/** Publishes five stored events in this order; before the event at an index, `at` is called. */
async function publishInOrder(order: number[], at: (index: number) => unknown = () => {}) {
  const opened = await openHub()
  const { memory, hub } = opened
  const first = new Listener('first')
  await first.join(hub, chat)
  const events = memory.appendSeveral(chat, 5)
  for (const [index, offset] of order.entries()) {
    await at(index)
    hub.publish(events.filter((event) => event.offset === offset))
  }
  return { ...opened, first, events }
}

test('publications that arrive in any order are delivered once, in order of offset', async () => {
  for (const order of permutations(five)) {
    const { first } = await publishInOrder(order)
    expect(first.received, `${order}`).toEqual(five)
    expect(await delivered()).toBe(5)
  }
})

test('publications that arrive twice, in any order, are delivered once', async () => {
  for (const order of permutations(five)) {
    const { first } = await publishInOrder([...order, ...order].flatMap((each) => [each, each]))
    expect(first.received, `${order}`).toEqual(five)
  }
})

/**
 * Five events arrive in this order. From an index on a subscriber joins before each of them, and is
 * answered with what is `stored` by then: at once, or when all have arrived.
 */
async function joinAmid({ order, from, isLate, stored }: Arrival) {
  const { memory, hub } = await openHub()
  const events = memory.appendSeveral(chat, Math.max(stored, ...order.slice(0, from)))
  const answer = isLate ? memory.hold() : () => {}
  const listeners: Listener[] = []
  const joins: Promise<unknown>[] = []
  for (const [index, offset] of order.entries()) {
    if (index >= from) {
      const listener = new Listener(`${index}`)
      listeners.push(listener)
      joins.push(listener.join(hub, chat, 0))
      if (!isLate) await Promise.all(joins)
    }
    events.push(...memory.appendSeveral(chat, Math.max(0, offset - events.length)))
    hub.publish(events.filter((event) => event.offset === offset))
  }
  answer()
  await Promise.all(joins)
  return listeners.map(({ received }) => `${received}`)
}
type Arrival = { order: number[]; from: number; isLate: boolean; stored: number }

test('subscribers who join amid reordered publications miss none and repeat none', async () => {
  const failed: string[] = []
  for (const order of permutations(five)) {
    for (const from of [0, 2, 4]) {
      for (const isLate of [false, true]) {
        const arrival = { order, from, isLate, stored: from === 2 ? 5 : 0 }
        const received = await joinAmid(arrival)
        if (received.some((each) => each !== `${five}`))
          failed.push(`${JSON.stringify(arrival)}: ${received.join(' | ')}`)
      }
    }
  }
  expect(failed).toEqual([])
})

test('whichever publications are lost, all are delivered after a reconciliation', async () => {
  const arrivals = new Set(
    permutations(five).flatMap((order) => [1, 2, 3, 4, 5].map((lost) => `${order.slice(lost)}`)),
  )
  const failed: string[] = []
  for (const arrival of arrivals) {
    const { first, hub } = await publishInOrder(arrival.split(',').map(Number))
    await hub.reconcile()
    await new Promise(setImmediate)
    if (`${first.received}` !== `${five}`) failed.push(arrival)
  }
  expect(failed).toEqual([])
})

test('a publication that arrives after its gap was filled is not delivered again', async () => {
  stopTimers()
  const { hub, memory, first, events } = await publishInOrder([2, 3, 5])
  await pass(25)
  expect(first.received).toEqual(five)
  hub.publish(events)
  for (const { offset } of events) hub.handleHint(chat, offset)
  await pass(25)
  expect(first.received).toEqual(five)
  expect(memory.reads).toHaveLength(1)
})

test('a lost publication is read from the log after 25 ms, without a reconciliation', async () => {
  stopTimers()
  const { memory, first } = await publishInOrder([1, 3])
  await pass(24)
  expect(first.received).toEqual([1])
  expect(memory.reads).toEqual([])
  await pass(1)
  expect(first.received).toEqual(five)
  expect(memory.reads).toEqual([[[chat, 1]]])
})

test('publications that merely swap are not read from the log', async () => {
  stopTimers()
  const { memory, first } = await publishInOrder([2, 1, 4, 3, 5])
  await pass(1_000)
  expect(first.received).toEqual(five)
  expect(memory.reads).toEqual([])
})

test('publications ahead of a gap are kept up to 1,000, the others read from the log', async () => {
  const { memory, hub } = await openHub()
  const listener = new Listener()
  await listener.join(hub, chat)
  const [lost, ...early] = memory.appendSeveral(chat, 1_202)
  hub.publish(early)
  expect(listener.received).toEqual([])
  hub.publish(lost ? [lost] : [])
  expect(listener.received).toEqual(upTo(1_001))
  await hub.reconcile()
  await pass()
  expect(listener.received).toEqual(upTo(1_202))
})

test('a subscriber answered while others wait for a gap continues from its answer', async () => {
  stopTimers()
  const { memory, hub, first } = await publishInOrder([1, 2])
  const late = new Listener('late')
  const { position } = await late.join(hub, chat)
  expect(position.offset).toBe(5)
  hub.publish([memory.append(chat)])
  await pass(25)
  expect([first.received, late.received]).toEqual([upTo(6), [6]])
})

/** An event as another node sends it with its hint. */
const sentAlong = ({ topic, offset, type, envelope, messageId }: StoredEvent, ageMs = 0) => ({
  topic,
  offset,
  event: { type, envelope, messageId, at: Date.now() - ageMs },
})

test('events that come with their hints, in any order, are delivered without a read', async () => {
  stopTimers()
  for (const order of permutations(five)) {
    const { memory, hub, first, events } = await publishInOrder([])
    for (const offset of order)
      for (const event of events.filter((event) => event.offset === offset))
        hub.receive(sentAlong(event))
    await pass(1_000)
    expect(first.received, `${order}`).toEqual(five)
    expect(memory.reads).toEqual([])
  }
})

test('an event that comes with its hint waits 25 ms for those before it', async () => {
  stopTimers()
  const { memory, hub, first, events } = await publishInOrder([1])
  for (const event of events.slice(2, 3)) hub.receive(sentAlong(event))
  await pass(24)
  expect([first.received, memory.reads]).toEqual([[1], []])
  await pass(1)
  expect(first.received).toEqual(five)
})

test('an event that comes with its hint is timed from its commit, if clocks agree', async () => {
  const { hub, events } = await publishInOrder([])
  const before = await secondsFromOthers()
  for (const [index, ageMs] of [7_000, -7_000].entries())
    for (const event of events.slice(index, index + 1)) hub.receive(sentAlong(event, ageMs))
  await pass()
  const seconds = (await secondsFromOthers()) - before
  expect(Math.floor(seconds)).toBe(7)
})
