import type { RedisState } from '../../core/context.ts'
import type { Metrics } from '../../core/metrics.ts'
import type { ConnectRedis } from '../../core/redis.ts'
import type { Broker } from './index.ts'
import { observeListener } from './listener-watch.ts'
import { createPostgresBroker } from './postgres-broker.ts'
import { createRedisBroker, type RedisBrokerOptions } from './redis-broker.ts'
import { withSpare } from './spare-broker.ts'

/** The spare broker carries little: it notices more slowly that its connection is dead. */
const SPARE = { brokerBeatMs: 15_000, brokerSilenceMs: 40_000 }

type NodeBrokerOptions = Pick<RedisBrokerOptions, 'nodeId' | 'log' | 'report' | 'timings'> & {
  databaseUrl: string
  /** If absent, the nodes notify each other through the database. */
  redis?: { connect: ConnectRedis; prefix: string } | undefined
  /** Whether clients connect to this process. */
  hasSockets?: boolean
  metrics: Pick<Metrics, 'registry' | 'notesLost' | 'redisTopics'>
}

/** The broker of the settings. Its listening connection is shown in the metrics. */
export function createNodeBroker({
  databaseUrl,
  redis,
  hasSockets = true,
  metrics: { registry, notesLost, redisTopics },
  ...options
}: NodeBrokerOptions): Broker & { redisState: (() => RedisState) | undefined } {
  const kind = redis ? 'redis' : 'postgres'
  const onLost = (count: number) => notesLost.inc({ broker: kind }, count)
  if (!redis) {
    const broker = createPostgresBroker({ ...options, url: databaseUrl, onLost })
    const start: Broker['start'] = (listener) => {
      observeListener(registry, broker.listener)
      return broker.start(listener)
    }
    return { ...broker, start, redisState: undefined }
  }
  const main = createRedisBroker({
    ...options,
    ...redis,
    onLost,
    onTopics: (count) => redisTopics.set(count),
  })
  const spare = { ...options, url: databaseUrl, timings: { ...options.timings, ...SPARE } }
  const { nodeId } = options
  const broker = hasSockets ? withSpare(main, createPostgresBroker(spare), nodeId) : main
  const start: Broker['start'] = (listener) => {
    observeListener(registry, broker.listener)
    return broker.start(listener)
  }
  return { ...broker, start, redisState: () => (broker.isUp() ? 'ok' : 'unreachable') }
}
