import { EventEmitter } from 'node:events'
import type { RedisConnection } from '@parley/server/core/redis'
import { createRedisBroker } from '@parley/server/realtime/redis-broker'
import { expect, test } from 'vitest'
import { upTo } from '../../support/events.ts'
import { quiet } from '../../support/scripted/index.ts'
import { stoppedClock } from '../../support/scripted/time.ts'

const EVERYONE = 'service:nodes'

/** A node with a Redis that takes everything, and delivers what a test says. */
async function openBroker() {
  const clock = stoppedClock()
  const listeners: EventEmitter[] = []
  const topics: number[] = []
  const missed: number[] = []
  const connect = ({ name }: { name: string }) => {
    const client = Object.assign(new EventEmitter(), {
      subscribe: async () => {},
      unsubscribe: async () => {},
      publish: async () => 0,
    })
    if (name === 'parley-listener') listeners.push(client)
    const state = { isCluster: false, close: () => {}, isReady: () => true, problem: () => '' }
    return { client, ...state } as unknown as RedisConnection // as much of one as is used
  }
  const broker = createRedisBroker({
    connect,
    prefix: 'service',
    nodeId: 'here',
    log: { warn: () => {}, info: () => {} },
    report: () => {},
    onLost: () => {},
    onTopics: (count) => void topics.push(count),
    timings: { brokerBeatMs: 1_000, brokerSilenceMs: 5_000, lookMs: 1_000, silentNodeMs: 60_000 },
  })
  const started = broker.start({
    onNote: () => {},
    onMissedNotes: (ms) => void missed.push(ms),
  })
  listeners[0]?.emit('ready')
  await quiet()
  await clock.forward(1_000)
  await started
  return { broker, clock, listeners, topics, missed }
}

test('a connection is silent that has only own notes about topics, of one server', async () => {
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

test('the inbox of a node is none of the topics that it follows', async () => {
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
