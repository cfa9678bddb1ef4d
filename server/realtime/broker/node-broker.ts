import type { RedisState } from '../../core/context.ts'
import type { Metrics } from '../../core/metrics.ts'
import type { ConnectRedis } from '../../core/redis.ts'
import type { Broker } from './index.ts'
import { observeListener } from './listener-watch.ts'
import { createPostgresBroker } from './postgres-broker.ts'
import { createRedisBroker, type RedisBrokerOptions } from './redis-broker.ts'

type NodeBrokerOptions = Pick<RedisBrokerOptions, 'nodeId' | 'log' | 'report' | 'timings'> & {
  databaseUrl: string
  /** If absent, the nodes notify each other through the database. */
  redis?: { connect: ConnectRedis; prefix: string } | undefined
  metrics: Pick<Metrics, 'registry' | 'notesLost' | 'redisTopics'>
}

/** The broker of the settings. Its listening connection is shown in the metrics. */
export function createNodeBroker({
  databaseUrl,
  redis,
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
  const broker = createRedisBroker({
    ...options,
    ...redis,
    onLost,
    onTopics: (count) => redisTopics.set(count),
  })
  const start: Broker['start'] = (listener) => {
    observeListener(registry, broker.listener)
    return broker.start(listener)
  }
  return { ...broker, start, redisState: () => (broker.isUp() ? 'ok' : 'unreachable') }
}
