import { EventEmitter } from 'node:events'
import type { RedisConnection } from '@parley/server/core/redis'
import { createRedisBroker } from '@parley/server/realtime/broker/redis-broker'
import { expect, test } from 'vitest'
import { upTo } from '../../support/events.ts'
import { quiet } from '../../support/scripted/index.ts'
import { stoppedClock } from '../../support/scripted/time.ts'

const EVERYONE = 'service:nodes'

/** A node with a Redis that takes everything, and delivers what a test says. */
async function openBroker({ isThere = true } = {}) {
  const lines: string[] = []
  const clock = stoppedClock()
  const listeners: EventEmitter[] = []
  const topics: number[] = []
  const missed: number[] = []
  const connections = { areReady: true }
  const connect = ({ name }: { name: string }) => {
    const client = Object.assign(new EventEmitter(), {
      subscribe: async () => {},
      unsubscribe: async () => {},
      publish: async () => 0,
    })
    if (name === 'parley-listener') listeners.push(client)
    const isReady = () => connections.areReady
    const state = { isCluster: false, close: () => {}, isReady, problem: () => '' }
    return { client, ...state } as unknown as RedisConnection // as much of one as is used
  }
  const broker = createRedisBroker({
    connect,
    prefix: 'service',
    nodeId: 'here',
    log: { warn: (_, message) => void lines.push(message), info: () => {} },
    report: () => {},
    onLost: () => {},
    onTopics: (count) => void topics.push(count),
    timings: { brokerBeatMs: 1_000, brokerSilenceMs: 5_000, lookMs: 1_000, silentNodeMs: 60_000 },
  })
  const started = broker.start({
    onNote: () => {},
    onMissedNotes: (ms) => void missed.push(ms),
  })
  if (isThere) listeners[0]?.emit('ready')
  await quiet()
  await clock.forward(isThere ? 1_000 : 4_000)
  await started
  return { broker, clock, listeners, topics, missed, lines, connections }
}

test('a connection with nothing but its own notes of topics counts as silent', async () => {
  const { clock, listeners, broker } = await openBroker()
  for (const number of upTo(8)) {
    listeners[0]?.emit('message', 'service:topic:talk', `here\n=${number}\n`)
    await clock.forward(1_000)
  }
  expect(listeners).toHaveLength(2)
  for (const number of upTo(8)) {
    listeners[1]?.emit('message', EVERYONE, `here\n${number}\n`)
    await clock.forward(1_000)
  }
  expect(listeners).toHaveLength(2)
  void broker.stop()
})

test('a node that listens but cannot send is not said to be up', async () => {
  const { broker, connections } = await openBroker()
  expect(broker.isUp()).toBe(true)
  connections.areReady = false
  expect(broker.isUp()).toBe(false)
  void broker.stop()
})

test('a start without Redis says so before anything is missed', async () => {
  const { broker, lines } = await openBroker({ isThere: false })
  expect(lines).toHaveLength(1)
  void broker.stop()
})

test('the silence of another node counts as missed notes, though own notes arrive', async () => {
  const { broker, clock, listeners, missed } = await openBroker()
  listeners[0]?.emit('message', EVERYONE, 'there\n1\n')
  missed.splice(0)
  for (const number of upTo(65)) {
    listeners[0]?.emit('message', EVERYONE, `here\n${number}\n`)
    await clock.forward(1_000)
  }
  expect(missed).toHaveLength(1)
  expect(missed.splice(0)[0]).toBeGreaterThan(60_000)
  // It has Redis again, and lost two payloads to everyone meanwhile.
  listeners[0]?.emit('message', 'service:topic:talk', 'there\n=3\n')
  listeners[0]?.emit('message', EVERYONE, 'there\n4\n')
  expect(missed).toHaveLength(1)
  expect(missed[0]).toBeGreaterThanOrEqual(65_000)
  void broker.stop()
})

test('the inbox of a node does not count among the topics that it follows', async () => {
  const { broker, topics } = await openBroker()
  broker.follow('talk')
  broker.follow('other')
  broker.unfollow('talk')
  expect(topics).toEqual([1, 2, 1])
  void broker.stop()
})

test('a node that stops has no timer left, and listens no more', async () => {
  const { broker, clock } = await openBroker()
  await broker.stop()
  await clock.forward(1_000)
  expect([clock.timers(), broker.isUp()]).toEqual([0, false])
})
