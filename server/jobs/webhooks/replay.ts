import { performance } from 'node:perf_hooks'
import type { Db } from '../../db/client.ts'
import type { Lease } from './leases.ts'
import {
  appOf,
  eachPage,
  endOf,
  eventsAfter,
  type LogPosition,
  type PageRow,
  startOf,
  wants,
} from './log-pages.ts'

/** How long a replay may read before the deliveries that it has made are sent. */
const TURN_MS = 5_000

/**
 * Makes the events since a time deliveries again, also those that were delivered. The next turn
 * continues where this one ended.
 */
export async function replay(db: Pick<Db, 'use'>, { id, replaySince }: Lease) {
  if (replaySince === null) return
  const until = performance.now() + TURN_MS
  let reached = replaySince
  const mayContinue = ({ at }: LogPosition) => {
    reached = at
    return performance.now() < until
  }
  const isDone = await eachPage(
    db,
    startOf(replaySince),
    (db, from) => db<PageRow[]>`
      with page as materialized (${eventsAfter(db, from)}),
      replayed as (
        insert into webhook_deliveries as wd (
          app_id, webhook_id,
          topic, "offset", event_type
        )
        select wh.app_id, wh.id, page.topic, page."offset", page.type
        from page
        join webhooks wh on wh.id = ${id}
        where wh.app_id = ${appOf(db)}
          and ${wants(db)}
        order by page.topic, page."offset"
        on conflict (webhook_id, topic, "offset") do update
        set
          status = 'pending',
          attempts = 0,
          next_attempt_at = now(),
          error = null
        where wd.status <> 'pending'
      )
      ${endOf(db)}`,
    mayContinue,
  )
  await db.use(
    (db) => db`
      update webhooks
      set replay_since = ${isDone ? null : reached}::timestamptz
      where id = ${id}
        and replay_since = ${replaySince}::timestamptz`,
  )
}
