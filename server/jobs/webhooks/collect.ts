import { performance } from 'node:perf_hooks'
import type { Db, Tx } from '../../db/client.ts'
import type { Timings } from '../timings.ts'
import {
  appOf,
  eachPage,
  endOf,
  eventsAfter,
  type PageRow,
  type PageStart,
  startOf,
  wants,
} from './log-pages.ts'

/**
 * Events are found by the time at which their transaction began. One that commits late appears
 * among events that were read before, but no transaction lasts this long.
 */
const LONGEST_TRANSACTION_SECONDS = 60
/** The key in `service` of the time up to which all events have been collected. */
const COLLECTED = 'webhooks_collected_until'

type CollectorOptions = { db: Pick<Db, 'use'>; timings: Timings; signal: AbortSignal }
type StartRow = {
  startedAt: string
  since: string | null
  until: string | null
  isAhead: boolean | null
}

/**
 * Makes deliveries of the events of apps that have webhooks, once for each webhook and event. The
 * log of events is all that it reads: writes stage nothing for webhooks. Each pass looks back a
 * moment; now and then one looks back as far as a transaction may have committed late, or as long
 * as all workers were down. Returns whether any webhook wants events.
 */
export function createCollector({ db, timings, signal }: CollectorOptions) {
  let lastStartedAt: string | undefined
  let sweptAt = Number.NEGATIVE_INFINITY

  const collect = async () => {
    const [start] = await selectStart(db)
    if (!start || start.since === null) return { areWanted: false }
    if (start.isAhead) await resetActiveSince(db)
    const isSweep = performance.now() - sweptAt >= timings.webhookSweepMs
    const { startedAt, since, until } = start
    const place = await firstPlace(db, {
      since,
      from: isSweep ? until : lastStartedAt,
      backMs: isSweep ? 0 : timings.webhookOverlapMs,
      startedAt,
    })
    const isDone = await eachPage(db, place, collectPage, () => !signal.aborted)
    if (!isDone) return { areWanted: false }
    lastStartedAt = startedAt
    if (isSweep) {
      await markCollected(db, startedAt)
      sweptAt = performance.now()
    }
    return { areWanted: true }
  }
  return collect
}

/** When a pass starts, and since when any webhook wants events. */
const selectStart = (db: Pick<Db, 'use'>) =>
  db.use(
    (db) => db<StartRow[]>`
      select
        now()::text as started_at,
        min(wh.active_since)::text as since,
        bool_or(wh.active_since > now()) as is_ahead,
        (
          select s.value
          from service s
          where s.key = ${COLLECTED}
        ) as until
      from webhooks wh
      where wh.enabled`,
  )

/** After the clock was set back, the events of now are from before a webhook wanted any. */
const resetActiveSince = (db: Pick<Db, 'use'>) =>
  db.use(
    (db) => db`
      update webhooks
      set active_since = now()
      where active_since > now()`,
  )

type FirstPlace = {
  since: string
  from: string | null | undefined
  backMs: number
  startedAt: string
}

/** Also after the clock was set back, the events of the last minute are looked at. */
async function firstPlace(db: Pick<Db, 'use'>, { since, from, backMs, startedAt }: FirstPlace) {
  const [row] = await db.use(
    (db) => db<{ at: string }[]>`
      select greatest(
        ${since}::timestamptz,
        case
          when ${from ?? null}::timestamptz <= ${startedAt}::timestamptz
            then ${from ?? null}::timestamptz - ${backMs} * interval '1 millisecond'
          when ${from ?? null}::timestamptz > ${startedAt}::timestamptz
            then ${longestBefore(db, startedAt)}
        end
      )::text as at`,
  )
  return startOf(row?.at ?? since)
}

const collectPage = (db: Tx, from: PageStart) => db<PageRow[]>`
  with page as materialized (${eventsAfter(db, from)}),
  collected as (
    insert into webhook_deliveries (app_id, webhook_id, topic, "offset", event_type)
    select wh.app_id, wh.id, page.topic, page."offset", page.type
    from page
    join webhooks wh on wh.app_id = ${appOf(db)}
    where wh.enabled
      and page.created_at >= wh.active_since
      and ${wants(db)}
      and not exists (
        select
        from webhook_deliveries wd
        where wd.webhook_id = wh.id
          and wd.topic = page.topic
          and wd."offset" = page."offset"
      )
    order by page.topic, page."offset", wh.id
    on conflict do nothing
  )
  ${endOf(db)}`

const markCollected = (db: Pick<Db, 'use'>, startedAt: string) =>
  db.use(
    (db) => db`
      insert into service (key, value)
      values (
        ${COLLECTED},
        (${longestBefore(db, startedAt)})::text
      )
      on conflict (key) do update
      set value = excluded.value`,
  )

const longestBefore = (db: Tx, at: string) => db`
  ${at}::timestamptz - ${LONGEST_TRANSACTION_SECONDS} * interval '1 second'`
