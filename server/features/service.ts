import { contract } from '@parley/contract'
import { ApiError } from '../core/errors.ts'
import {
  type Implements,
  implementWithoutConnection,
  implementWithoutTransaction,
} from '../core/operation.ts'

const health = implementWithoutTransaction(
  contract.service.health,
  async ({ db, services: { version, isOutage } }) => {
    await db`select 1`
    if (isOutage()) throw new ApiError('UNAVAILABLE', 'Sockets are refused since an outage')
    return { status: 'ok' as const, version, checks: { database: 'ok' as const } }
  },
)

const live = implementWithoutConnection(
  contract.service.live,
  async ({ services: { version } }) => ({ status: 'ok' as const, version }),
)

export const service = { health, live } satisfies Implements<'service'>
