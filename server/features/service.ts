import { contract } from '@parley/contract'
import { ApiError } from '../core/errors.ts'
import { type Implements, implementWithoutConnection } from '../core/operation.ts'

const health = implementWithoutConnection(
  contract.service.health,
  async ({ services: { version, workers, redis, isStopping, isOutage, pingDatabase } }) => {
    if (isStopping()) throw new ApiError('UNAVAILABLE', 'The server is about to stop')
    const { isDiskFull } = await pingDatabase()
    if (isOutage())
      throw new ApiError(
        'UNAVAILABLE',
        'The server refuses sockets until it reaches the database again',
      )
    const checks = {
      database: 'ok' as const,
      ...(isDiskFull && { disk: 'full' as const }),
      ...(workers && { workers: workers() }),
      ...(redis && { redis: redis() }),
    }
    return { status: 'ok' as const, version, checks }
  },
)

const live = implementWithoutConnection(
  contract.service.live,
  async ({ services: { version } }) => ({ status: 'ok' as const, version }),
)

export const service = { health, live } satisfies Implements<'service'>
