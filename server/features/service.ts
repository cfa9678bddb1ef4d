import { contract } from '@parley/contract'
import { ApiError } from '../core/errors.ts'
import {
  type Implements,
  implementWithoutConnection,
  implementWithoutTransaction,
} from '../core/operation.ts'

const health = implementWithoutTransaction(
  contract.service.health,
  async ({ db, services: { version, workers, isOutage } }) => {
    await db`select 1`
    if (isOutage()) throw new ApiError('UNAVAILABLE', 'Sockets are refused since an outage')
    const checks = { database: 'ok' as const, ...(workers && { workers: workers() }) }
    return { status: 'ok' as const, version, checks }
  },
)

const live = implementWithoutConnection(
  contract.service.live,
  async ({ services: { version } }) => ({ status: 'ok' as const, version }),
)

export const service = { health, live } satisfies Implements<'service'>
