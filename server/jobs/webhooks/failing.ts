import { limits, type Webhook } from '@parley/contract'
import type { Db } from '../../db/client.ts'
import type { Lease } from './leases.ts'

export const markDelivering = (db: Pick<Db, 'use'>, { id }: Lease) =>
  db.use(
    (db) => db`
      update webhooks
      set failing_since = null
      where id = ${id}
        and failing_since is not null`,
  )

type Failing = { url: string; isGone: boolean; isPersistent: boolean }
type Disabled = Pick<Webhook, 'enabled' | 'disabledReason'>

/**
 * Notes a failure, and disables a webhook that is gone or has failed for too long. One that has
 * another URL since, or is another worker's, is left as it is.
 */
export async function markFailing(
  db: Pick<Db, 'use'>,
  { id, leasedBy }: Lease,
  { url, isGone, isPersistent }: Failing,
) {
  const [row] = await db.use(
    (db) => db<Disabled[]>`
      with verdict as (
        select
          wh.id,
          case
            when ${isGone} then 'gone'
            when ${isPersistent}
              and wh.failing_since < now() - ${limits.webhooks.failingDays} * interval '1 day'
              then 'failing'
          end as reason
        from webhooks wh
        where wh.id = ${id}
          and wh.leased_by = ${leasedBy}
          and wh.url = ${url}
          and wh.enabled
        for no key update
      )
      update webhooks wh
      set
        failing_since = coalesce(wh.failing_since, now()),
        enabled = verdict.reason is null,
        disabled_reason = verdict.reason
      from verdict
      where wh.id = verdict.id
      returning wh.enabled, wh.disabled_reason`,
  )
  return row?.disabledReason ?? undefined
}
