import { limits } from '@parley/contract'
import { headerIdOf } from '../../core/webhook-ids.ts'
import type { Db, Fragment, Tx } from '../../db/client.ts'
import type { Candidate, NextTry } from './line.ts'
import type { DeliveryOutcome } from './request.ts'

/** A webhook whose deliveries this worker sends, as read when the lease began. */
export type Lease = {
  id: string
  appId: string
  failingSince: string | null
  replaySince: string | null
  leasedBy: string
}
/** How many deliveries of a webhook are read at a time, including those that wait for others. */
export const WINDOW = 1_000
const RETRIES_AT_ONCE = 5

/**
 * How many webhooks of an app a process serves at once, of working ones and of failing ones: half
 * of what an app may have. So slow ones delay no other app.
 */
const MOST_OF_APP = limits.webhooks.most / 2

type LeaseQuery = {
  isFailing: boolean
  most: number
  leaseMs: number
  /** How long a webhook may rest after its turn. */
  restMs: number
  /** The app of each webhook that this process is serving. */
  served: readonly string[]
}

/**
 * Leases webhooks with something to send: one of each app in turn, up to its share, those first
 * whose last turn is longest ago. No other worker sends their deliveries until the lease ends or is
 * released, so none is sent twice at once. Skips webhooks that another worker leases meanwhile.
 */
export const leaseWebhooks = (
  db: Pick<Db, 'use'>,
  { isFailing, most, leaseMs, restMs, served }: LeaseQuery,
) =>
  db.use(
    (db) => db<Lease[]>`
      with due as materialized (
        select
          wh.id, wh.leased_until,
          row_number() over (
            partition by wh.app_id
            order by wh.leased_until nulls first
          ) + cardinality(array_positions(${served}::uuid[], wh.app_id)) as ordinal
        from webhooks wh
        where wh.enabled
          and ${isFree(db, { leaseMs, restMs })}
          and ${isFailing ? db`wh.failing_since is not null` : db`wh.failing_since is null`}
          and (
            wh.replay_since is not null
            or exists (${dueOf(db, db`'pending'`)})
            or exists (${dueOf(db, db`'retrying'`)})
          )
      ),
      next as materialized (
        select wh.id
        from due
        join webhooks wh on wh.id = due.id
        where due.ordinal <= ${MOST_OF_APP}
          and wh.enabled
          and ${isFree(db, { leaseMs, restMs })}
        order by due.ordinal, due.leased_until nulls first
        limit ${most}
        for update of wh skip locked
      )
      update webhooks wh
      set
        leased_by = gen_random_uuid(),
        leased_until = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
      from next
      where wh.id = next.id
      returning
        wh.id, wh.app_id, wh.leased_by,
        wh.failing_since, wh.replay_since::text as replay_since`,
  )

/**
 * Whether webhook `wh` is neither leased nor resting. Another worker continues after a dead one,
 * even if its lease is from before the clock was set back and ends too late. Only a lease that is
 * too late by more than its length is taken over, so a small step of the clock ends no lease of a
 * live worker.
 */
const isFree = (db: Tx, { leaseMs, restMs }: Pick<LeaseQuery, 'leaseMs' | 'restMs'>) => db`(
  wh.leased_until is null
  or wh.leased_until <= clock_timestamp()
  or wh.leased_until > clock_timestamp()
    + case when wh.leased_by is null then ${restMs}::int else ${2 * leaseMs}::int end
    * interval '1 millisecond'
)`

/**
 * Whether a delivery is due. One that was not tried is, although its time may be later: it is from
 * before the clock was set back.
 */
const isDueRow = (db: Tx, row: Fragment) => db`(
  ${row}.next_attempt_at <= now()
  or ${row}.attempts = 0
)`

/** The next delivery of webhook `wh` with a status, if it is due. No other is read. */
const dueOf = (db: Tx, status: Fragment) => db`
  select
  from (
    select wd.next_attempt_at, wd.attempts
    from webhook_deliveries wd
    where wd.webhook_id = wh.id
      and wd.status = ${status}
    order by wd.next_attempt_at
    limit 1
  ) next
  where ${isDueRow(db, db`next`)}`

/**
 * Ends the lease. Other webhooks have their turn before the next one of this, which comes after its
 * rest.
 */
export const releaseWebhook = (db: Pick<Db, 'use'>, { id, leasedBy }: Lease, restMs = 0) =>
  db.use(
    (db) => db`
      update webhooks
      set
        leased_by = null,
        leased_until = clock_timestamp() + ${restMs} * interval '1 millisecond'
      where id = ${id}
        and leased_by = ${leasedBy}`,
  )

/** The first deliveries in a webhook's line, and those to retry beside it. */
export const selectCandidates = (db: Pick<Db, 'use'>, { id }: Lease) =>
  db.use(
    (db) => db<Candidate[]>`
      (
        select ${candidateColumns(db)}
        from webhook_deliveries wd
        where wd.webhook_id = ${id}
          and wd.status = 'pending'
        order by wd.id
        limit ${WINDOW}
      )
      union all
      (
        select ${candidateColumns(db)}
        from webhook_deliveries wd
        where wd.webhook_id = ${id}
          and wd.status = 'retrying'
          and wd.next_attempt_at <= now()
        order by wd.next_attempt_at
        limit ${RETRIES_AT_ONCE}
      )`,
  )

/** The next deliveries in a webhook's line, after one of them. */
export const selectFurther = (db: Pick<Db, 'use'>, { id }: Lease, after: number) =>
  db.use(
    (db) => db<Candidate[]>`
      select ${candidateColumns(db)}
      from webhook_deliveries wd
      where wd.webhook_id = ${id}
        and wd.status = 'pending'
        and wd.id > ${after}::bigint
      order by wd.id
      limit ${WINDOW}`,
  )

const candidateColumns = (db: Tx) => db`
  wd.id::text as id, ${headerIdOf(db)} as header_id,
  wd.topic, wd."offset", wd.event_type,
  wd.status, wd.attempts, wd.next_attempt_at::text as due_at, ${isDueRow(db, db`wd`)} as is_due`

type Attempt = {
  lease: Lease
  candidate: Pick<Candidate, 'id' | 'dueAt'>
  /** Where it was sent. */
  url: string
  outcome: DeliveryOutcome
  next: NextTry | { status: 'delivered'; pauseMs: 0 }
}

/**
 * Stores the outcome of an attempt, if the lease is still this worker's. If the delivery was to be
 * sent again since, it still will be, whatever the outcome; so it will be if it failed at a URL
 * that the webhook has no more. Returns whether the outcome was stored.
 */
export async function recordAttempt(
  db: Pick<Db, 'use'>,
  { lease, candidate, url, outcome, next }: Attempt,
) {
  const { count } = await db.use(
    (db) => db`
      update webhook_deliveries wd
      set
        status = ${next.status},
        attempts = wd.attempts + 1,
        response_status = ${outcome.responseStatus},
        error = ${outcome.error},
        next_attempt_at = now() + ${next.pauseMs} * interval '1 millisecond'
      where wd.id = ${candidate.id}::bigint
        and wd.next_attempt_at is not distinct from ${candidate.dueAt}::timestamptz
        and exists (
          select
          from webhooks wh
          where wh.id = wd.webhook_id
            and wh.leased_by = ${lease.leasedBy}
            and (wh.url = ${url} or ${outcome.isDelivered})
        )`,
  )
  return count > 0
}
