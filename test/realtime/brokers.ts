import { createPostgresBroker } from '@parley/server/realtime/broker/postgres-broker'
import { createRedisBroker } from '@parley/server/realtime/broker/redis-broker'
import type { Timings } from '@parley/server/realtime/timings'
import { afterAll, beforeAll } from 'vitest'
import { trustOwnCa } from '../support/certificates/index.ts'
import type { openProxy } from '../support/proxy.ts'
import { hasRedis, redisAt, startRedis, startTlsRedis } from '../support/redis.ts'
import type { World } from '../support/world.ts'

export const brokerKinds = ['PostgreSQL', 'Redis', 'Redis with TLS and a password'] as const

type Report = (error: unknown, problem: string) => void
type Created = { url: string; nodeId: string; timings: Partial<Timings>; report: Report }
type Proxy = Awaited<ReturnType<typeof openProxy>>
type Redis = Awaited<ReturnType<typeof startRedis>>

/** For each kind of broker: its server, the proxy on the way there, and how it is created. */
export function useBrokers(world: () => World) {
  let plain: Redis | undefined
  let secure: Redis | undefined
  if (hasRedis) {
    const distrust = trustOwnCa()
    beforeAll(async () => {
      plain = await startRedis()
      secure = await startTlsRedis()
    })
    afterAll(async () => {
      distrust()
      await plain?.kill()
      await secure?.kill()
    })
  }
  const createPostgres = async ({ report, ...options }: Created) => ({
    ...createPostgresBroker({ ...options, report, onLost: () => report(undefined, 'lost') }),
    isUp: () => true,
  })
  const createRedis = async ({ url, report, ...options }: Created) =>
    createRedisBroker({
      ...options,
      ...(await redisAt(url)),
      report,
      onLost: () => report(undefined, 'lost'),
      onTopics: () => {},
      log: { warn: () => {}, info: () => {} },
    })
  return {
    PostgreSQL: {
      url: () => world().databaseUrl,
      through: ({ databaseUrl }: Proxy) => databaseUrl,
      nowhere: 'postgres://127.0.0.1:1',
      create: createPostgres,
    },
    Redis: {
      url: () => plain?.url ?? '',
      through: ({ url }: Proxy) => url.replace('http', 'redis'),
      nowhere: 'redis://127.0.0.1:1',
      create: createRedis,
    },
    'Redis with TLS and a password': {
      url: () => secure?.url ?? '',
      // Its certificate and the password are those of the server behind the proxy.
      through: ({ url }: Proxy) => (secure?.url ?? '').replace(/\d+$/, new URL(url).port),
      nowhere: 'redis://127.0.0.1:1',
      create: createRedis,
    },
  }
}
