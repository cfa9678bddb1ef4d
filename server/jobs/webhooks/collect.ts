import { randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { type Db, patience, type Tx } from '../../db/client.ts'
import type { Timings } from '../timings.ts'
import { LONGEST_TRANSACTION_SECONDS, watchSteps } from './clock-steps.ts'
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

/** The key in `service` of the time up to which all events have been collected. */
const COLLECTED = 'webhooks_collected_until'
/** The key in `service` of the process that collects, with the end of its turn. */
const COLLECTOR = 'webhooks_collector'
/** A turn outlasts its last renewal by so many polls, and the time of a page. */
const MISSED_POLLS = 5
/** Enough to read a page that takes too long once more, in half, before the turn is renewed. */
const PAGE_MS = 2 * patience.statementMs

type CollectorOptions = { db: Pick<Db, 'use'>; timings: Timings; signal: AbortSignal }
type StartRow = {
  startedAt: string
  startedSeconds: number
  isTurn: boolean
  since: string | null
  until: string | null
  isAhead: boolean | null
}

/**
 * Makes deliveries of the events of apps that have webhooks, once for each webhook and event. The
 * log of events is all that it reads: writes stage nothing for webhooks. Each pass looks back a
 * moment; now and then one looks back as far as a transaction may have committed late, or as long
 * as all workers were down. One process does so for all, until it fails or ends; should two of them
 * for a moment, nothing is sent twice. Returns whether any webhook wants events.
 */
export function createCollector({ db, timings, signal }: CollectorOptions) {
  const turn = { id: randomUUID(), leaseMs: MISSED_POLLS * timings.pollMs + PAGE_MS }
  const hasJustStepped = watchSteps()
  let lastStartedAt: string | undefined
  let sweptAt = Number.NEGATIVE_INFINITY

  const collect = async () => {
    const askedAt = performance.now()
    const [start] = await takeTurn(db, turn)
    // Each process watches: after a step, another one may take the turn.
    const isIncomplete = start !== undefined && hasJustStepped(start.startedSeconds, askedAt)
    if (!start || start.since === null) return { areWanted: false }
    if (!start.isTurn) return { areWanted: true }
    try {
      return await pass({ ...start, since: start.since }, isIncomplete)
    } catch (error) {
      await leave().catch(() => {})
      throw error
    }
  }
  const pass = async (start: StartRow & { since: string }, isIncomplete: boolean) => {
    if (start.isAhead) await resetActiveSince(db)
    const isSweep = performance.now() - sweptAt >= timings.webhookSweepMs
    const { startedAt, since, until } = start
    const first = await startOfPass(db, {
      since,
      from: isSweep ? until : lastStartedAt,
      backMs: isSweep ? 0 : timings.webhookOverlapMs,
      startedAt,
    })
    const mayContinue = async () => !signal.aborted && (await renewTurn(db, turn))
    const isDone = await eachPage(db, first, collectPage, mayContinue)
    if (!isDone) return { areWanted: true }
    lastStartedAt = startedAt
    if (isSweep) {
      if (!isIncomplete) await markCollected(db, startedAt)
      sweptAt = performance.now()
    }
    return { areWanted: true }
  }
  /** Gives the turn up to another process. */
  const leave = () =>
    db.use(
      (db) => db`
        delete from service
        where key = ${COLLECTOR}
          and value::jsonb ->> 'id' = ${turn.id}`,
    )
  return { collect, leave }
}

type CollectorTurn = { id: string; leaseMs: number }

/**
 * When a pass starts, since when any webhook wants events, and whether this process collects them.
 * All ask for it with each poll: where it is another's, they only read.
 */
const takeTurn = (db: Pick<Db, 'use'>, turn: CollectorTurn) =>
  db.use(
    (db) => db<StartRow[]>`
      with wanted as materialized (
        select
          min(wh.active_since)::text as since,
          bool_or(wh.active_since > now()) as is_ahead
        from webhooks wh
        where wh.enabled
      ),
      turn as (
        insert into service as s (key, value)
        select ${COLLECTOR}, ${storedTurn(db, turn)}
        from wanted
        where wanted.since is not null
          and not exists (
            select
            from service s
            where s.key = ${COLLECTOR}
              and ${isOfAnother(db, turn)}
          )
        on conflict (key) do update
        set value = excluded.value
        where not ${isOfAnother(db, turn)}
        returning s.key
      )
      select
        now()::text as started_at,
        extract(epoch from now())::float as started_seconds,
        wanted.since, wanted.is_ahead,
        exists (
          select
          from turn
        ) as is_turn,
        (
          select s.value
          from service s
          where s.key = ${COLLECTED}
        ) as until
      from wanted`,
  )

/** Renews the turn of this process. Returns false if it has lost it. */
async function renewTurn(db: Pick<Db, 'use'>, turn: CollectorTurn) {
  const renewed = await db.use(
    (db) => db`
      update service s
      set value = ${storedTurn(db, turn)}
      where s.key = ${COLLECTOR}
        and s.value::jsonb ->> 'id' = ${turn.id}
      returning s.key`,
  )
  return renewed.length > 0
}

const storedTurn = (db: Tx, { id, leaseMs }: CollectorTurn) => db`
  jsonb_build_object(
    'id', ${id}::text,
    'until', clock_timestamp() + ${leaseMs} * interval '1 millisecond'
  )::text`

/**
 * Whether the turn in row `s` is another process's, and not over. A turn that ends too late is from
 * before the clock was set back.
 */
const isOfAnother = (db: Tx, { id, leaseMs }: CollectorTurn) => db`(
  s.value::jsonb ->> 'id' <> ${id}
  and (s.value::jsonb ->> 'until')::timestamptz between clock_timestamp()
    and clock_timestamp() + ${2 * leaseMs} * interval '1 millisecond'
)`

/**
 * Corrects the times since when webhooks want events: after the clock was set back, new events
 * would be older than these.
 */
const resetActiveSince = (db: Pick<Db, 'use'>) =>
  db.use(
    (db) => db`
      update webhooks
      set active_since = now()
      where active_since > now()`,
  )

type PassBounds = {
  since: string
  from: string | null | undefined
  backMs: number
  startedAt: string
}

/** Even after the clock was set back, the events of the last minute are looked at. */
async function startOfPass(db: Pick<Db, 'use'>, { since, from, backMs, startedAt }: PassBounds) {
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
