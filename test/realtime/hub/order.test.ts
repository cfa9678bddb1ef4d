import { expect, test } from 'vitest'
import { chat, Listener, MemoryLog, openHub, pass, permutations, upTo } from './fixture.ts'

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
    const { first, delivered } = await publishInOrder(order)
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

test('a subscriber who joins amid reordered publications misses none and repeats none', async () => {
  for (const order of permutations(five)) {
    for (const [joinAt, answerAt] of upTo(4, 0).flatMap((join) => [
      [join, join],
      [join, join + 1],
      [join, 5],
    ])) {
      // What the database answered the subscriber with: all that was published, or more.
      for (const stored of [Math.max(0, ...order.slice(0, joinAt)), 5]) {
        const memory = new MemoryLog()
        const { hub } = await openHub(memory)
        const [first, late] = [new Listener('first'), new Listener('late')]
        await first.join(hub, chat)
        const events = memory.appendSeveral(chat, stored)
        let answer = () => {}
        let joined: Promise<unknown> = Promise.resolve()
        for (let index = 0; index <= 5; index++) {
          if (index === joinAt) {
            answer = memory.hold()
            joined = late.join(hub, chat, 0)
            events.push(...memory.appendSeveral(chat, 5 - stored))
          }
          if (index === answerAt) {
            answer()
            await joined
          }
          hub.publish(events.filter(({ offset }) => offset === order[index]))
        }
        const history = `${order}, joins at ${joinAt}, answered at ${answerAt} with ${stored}`
        expect(first.received, history).toEqual(five)
        expect(late.received, history).toEqual(five)
      }
    }
  }
})

test('whichever publications are lost, all are delivered after a reconciliation', async () => {
  for (const order of permutations(five)) {
    for (let lost = 1; lost < 32; lost += 2) {
      const arriving = order.filter((offset) => (lost & (1 << (offset - 1))) === 0)
      const { first, hub } = await publishInOrder(arriving)
      await hub.reconcile()
      await new Promise(setImmediate)
      expect(first.received, `${arriving}`).toEqual(five)
    }
  }
})

test('a publication that arrives after its gap was filled is not delivered again', async () => {
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
  const { memory, first } = await publishInOrder([1, 3])
  await pass(24)
  expect(first.received).toEqual([1])
  expect(memory.reads).toEqual([])
  await pass(1)
  expect(first.received).toEqual(five)
  expect(memory.reads).toEqual([[[chat, 1]]])
})

test('publications that merely swap are not read from the log', async () => {
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
  await pass(25)
  expect(listener.received).toEqual(upTo(1_202))
})

test('a subscriber who is answered while others wait for a gap continues from its answer', async () => {
  const { memory, hub, first } = await publishInOrder([1, 2])
  const late = new Listener('late')
  const { position } = await late.join(hub, chat)
  expect(position.offset).toBe(5)
  hub.publish([memory.append(chat)])
  await pass(25)
  expect([first.received, late.received]).toEqual([upTo(6), [6]])
})
