import { topics } from '@parley/contract'
import { createRedisBroker } from '@parley/server/realtime/broker/redis-broker'
import { afterAll, beforeAll, describe, onTestFinished, test } from 'vitest'
import { upTo } from '../support/events.ts'
import { hasRedis, redisAt, startRedisCluster } from '../support/redis.ts'
import { until } from '../support/until.ts'

/** Enough topics that both servers of the cluster have some. */
const names = upTo(12).map((n) => topics.user('019c9b1e-7a52-7cc1-8f0e-0a0000000009', `user-${n}`))

/** Some of the topics have slots from here on, and the second server keeps others. */
const MOVED_FROM = 13_000

describe.skipIf(!hasRedis)('the broker over a cluster of Redis', () => {
  let cluster: Awaited<ReturnType<typeof startRedisCluster>>
  beforeAll(async () => {
    cluster = await startRedisCluster()
  })
  afterAll(() => cluster.stop())

  async function openBroker(nodeId: string) {
    /** The highest offset of each topic. */
    const received = new Map<string, number>()
    const missed: number[] = []
    const broker = createRedisBroker({
      ...(await redisAt(cluster.url)),
      ...{ nodeId, log: { warn: () => {}, info: () => {} }, report: () => {} },
      ...{ onLost: () => {}, onTopics: () => {} },
      timings: { brokerBeatMs: 100, brokerSilenceMs: 60_000 },
    })
    onTestFinished(broker.stop)
    await broker.start({
      onNote: (note) => {
        if (note.kind !== 'hint') return
        received.set(note.topic, Math.max(note.offset, received.get(note.topic) ?? 0))
      },
      onMissedNotes: (milliseconds) => void missed.push(milliseconds),
    })
    await until(broker.isUp)
    return { ...broker, received, missed }
  }

  /** A receiver that has received notes of all topics, and a function that sends others. */
  async function openPair() {
    const [sender, receiver] = [await openBroker('sender'), await openBroker('receiver')]
    for (const name of names) receiver.follow(name)
    await receiver.settled()
    /** Until one of each has arrived. Earlier ones may still be under way. */
    const sendAll = (offset: number) =>
      until(() => {
        for (const topic of names) sender.send({ kind: 'hint', topic, offset })
        return names.every((topic) => receiver.received.get(topic) === offset)
      })
    await sendAll(1)
    return { receiver, sendAll, before: receiver.missed.length }
  }

  test('receives notes of topics that were moved to another server', async () => {
    const { receiver, sendAll, before } = await openPair()
    await cluster.moveSlots(MOVED_FROM)
    // Those of the time of the move may be lost.
    await until(() => receiver.missed.length > before)
    await sendAll(2)
  })

  test('receives notes again of topics of a server whose connection fell silent', async () => {
    const { receiver, sendAll, before } = await openPair()
    cluster.second.silence()
    await sendAll(2)
    // A question waits for seconds; notes since the answer to the one before count as missed.
    await until(() => receiver.missed.slice(before).some((milliseconds) => milliseconds > 2_000))
  })
})
