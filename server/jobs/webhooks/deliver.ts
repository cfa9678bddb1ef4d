import { performance } from 'node:perf_hooks'
import type { GuardedRequest } from '../../core/guarded-request.ts'
import type { Log } from '../../core/log.ts'
import type { Metrics } from '../../core/metrics.ts'
import { joinRemoval, shownEnvelope } from '../../core/text-removals.ts'
import type { Db } from '../../db/client.ts'
import type { Timings } from '../timings.ts'
import { markDelivering, markFailing } from './failing.ts'
import { type Lease, recordAttempt, selectCandidates, selectFurther, WINDOW } from './leases.ts'
import { afterFailure, type Candidate, groupsOf, isPersistent, type NextTry } from './line.ts'
import type { Replays } from './replay.ts'
import { bodyOf, type DeliveryOutcome, failure, type LoggedEvent, post } from './request.ts'

export type DeliverContext = {
  db: Pick<Db, 'use'>
  request: GuardedRequest
  timings: Timings
  metrics: Pick<Metrics, 'webhookDeliveries' | 'webhooksDisabled'>
  log: Log
  signal: AbortSignal
  replays: Replays
}

/** How many windows of a line are read in a turn in which nothing may be sent. */
const MOST_WINDOWS = 10
/** How many polls a webhook may rest after such a turn. */
export const MOST_REST = MOST_WINDOWS
/** How many requests a receiver gets at once; one that fails gets one. */
const AT_ONCE = 4
/**
 * The share of the lease that a turn may take, so that requests in progress end within the lease.
 */
const TURN_SHARE = 3

/**
 * Sends the due deliveries of a leased webhook. Returns whether there were any, and how long the
 * webhook is to rest: one poll for each window of a long line in which everything has to wait, as
 * behind a delivery that is tried again in minutes.
 */
export async function deliverDue(context: DeliverContext, lease: Lease) {
  const { db, timings, signal } = context
  const turnEnds = performance.now() + timings.webhookLeaseMs / TURN_SHARE
  await context.replays.run(db, lease, timings)
  const { groups, windows } = await dueGroups(db, lease)
  const health = { isFailing: lease.failingSince !== null, isOver: false }
  const isOver = () => health.isOver || signal.aborted || performance.now() > turnEnds
  const waiting = [...groups]
  const work = async () => {
    for (let group = waiting.shift(); group && !isOver(); group = waiting.shift())
      for (const candidate of group) {
        if (isOver()) return
        if (!(await deliver(context, { lease, candidate, health }))) break
      }
  }
  const atOnce = health.isFailing ? 1 : AT_ONCE
  const works = await Promise.allSettled(Array.from({ length: atOnce }, work))
  const failed = works.find((done) => done.status === 'rejected')
  if (failed) throw failed.reason
  const wereDue = groups.length > 0
  return { wereDue, restMs: wereDue || windows === 1 ? 0 : windows * timings.pollMs }
}

/**
 * The groups of deliveries that may be sent now. If everything read so far has to wait, reads on: a
 * channel with many deliveries behind a failed one holds up no other channel.
 */
async function dueGroups(db: Pick<Db, 'use'>, lease: Lease) {
  const candidates = await selectCandidates(db, lease)
  let line = candidates.filter(({ status }) => status === 'pending')
  let groups = groupsOf(candidates)
  let windows = 1
  for (; windows < MOST_WINDOWS; windows++) {
    if (groups.length > 0 || line.length < WINDOW) break
    line = await selectFurther(db, lease, Math.max(...line.map(({ id }) => Number(id))))
    candidates.push(...line)
    groups = groupsOf(candidates)
  }
  return { groups, windows }
}

/**
 * The state of a webhook during its turn. When it begins to fail its turn ends. The next turn is
 * among those of failing webhooks, so that it delays no others.
 */
type Health = { isFailing: boolean; isOver: boolean }
type DeliveryAttempt = { lease: Lease; candidate: Candidate; health: Health }

/** Tries one delivery once, and stores the outcome. Returns true if the next ones may follow. */
async function deliver(context: DeliverContext, { lease, candidate, health }: DeliveryAttempt) {
  const { db, timings, metrics } = context
  const sent = await send(context, { lease, candidate })
  if (sent === undefined) return endTurn(health)
  const { url, outcome } = sent
  const attempts = candidate.attempts + 1
  const next = nextTry(outcome, { attempts, unitMs: timings.backOffMs })
  const isStored = await recordAttempt(db, { lease, candidate, url, outcome, next })
  if (!isStored) return endTurn(health)
  const isFinal = next.status === 'delivered' || next.status === 'failed'
  metrics.webhookDeliveries.inc({ outcome: isFinal ? next.status : 'put_off' })
  if (outcome.isDelivered) {
    if (health.isFailing) await markDelivering(db, lease)
    health.isFailing = false
  } else if (outcome !== EXPIRED) {
    await recordFailure(context, { lease, candidate, health }, sent)
  }
  return outcome.isDelivered || next.status === 'failed'
}

/** The next turn finds what may be sent. */
function endTurn(health: Health) {
  health.isOver = true
  return false
}

/** Nothing is left to send; the receiver has not failed. */
const EXPIRED = failure('its event is not kept any more')

/** What became of a request to a URL, which may not be the webhook's any more. */
type UrlOutcome = { url: string; outcome: DeliveryOutcome }

/** Returns undefined if the webhook is no longer leased by this process. */
async function send(
  context: DeliverContext,
  delivery: SentAttempt,
): Promise<UrlOutcome | undefined> {
  const { db, request, signal, timings, log } = context
  const { lease, candidate } = delivery
  const [row] = await selectSendable(db, delivery)
  if (!row) return undefined
  const { url, secrets, readAt } = row
  try {
    const body = bodyFor(delivery, row)
    if (body === undefined) return { url, outcome: EXPIRED }
    const options = { request, signal, timeoutMs: timings.webhookTimeoutMs }
    const outcome = await post({ url, id: candidate.headerId, body, secrets, at: readAt }, options)
    return { url, outcome }
  } catch (error) {
    signal.throwIfAborted()
    log.error({ err: error, webhookId: lease.id }, 'webhook delivery failed because of a bug')
    return { url, outcome: failure('internal error') }
  }
}
type SentAttempt = Pick<DeliveryAttempt, 'lease' | 'candidate'>

/** Secrets, the newest first. The one before the last rotation signs too, for a while. */
type Sendable = { url: string; secrets: string[]; readAt: string } & (LoggedEvent | NoEvent)
type NoEvent = { [Column in keyof LoggedEvent]: null }

/**
 * The webhook and the event as they are stored now, so that what was deleted since is not sent. The
 * columns of an event that is no longer kept are null. The time is by the database's clock, since
 * that of this machine may be wrong.
 */
const selectSendable = (db: Pick<Db, 'use'>, { lease, candidate }: SentAttempt) =>
  db.use(
    (db) => db<Sendable[]>`
      select
        clock_timestamp() as read_at,
        wh.url,
        array_remove(
          array[
            wh.secret,
            case when wh.previous_secret_expires_at > now() then wh.previous_secret end
          ],
          null
        ) as secrets,
        e.topic, e."offset", e.message_id, ${shownEnvelope(db)} as envelope, e.created_at
      from webhooks wh
      left join events e on e.topic = ${candidate.topic} and e."offset" = ${candidate.offset}
      ${joinRemoval(db)}
      where wh.id = ${lease.id}
        and wh.leased_by = ${lease.leasedBy}
        and wh.enabled`,
  )

function bodyFor({ lease: { id, appId }, candidate }: SentAttempt, row: Sendable) {
  if (row.topic !== null) return bodyOf(appId, row)
  if (candidate.topic !== null) return undefined
  const data = { webhookId: id }
  return JSON.stringify({ type: candidate.eventType, timestamp: row.readAt, appId, data })
}

type Attempts = { attempts: number; unitMs: number }

function nextTry(outcome: DeliveryOutcome, { attempts, unitMs }: Attempts): NextTry | Delivered {
  if (outcome.isDelivered) return { status: 'delivered', pauseMs: 0 }
  if (outcome === EXPIRED || outcome.isGone) return { status: 'failed', pauseMs: 0 }
  return afterFailure({ attempts, retryAfterSeconds: outcome.retryAfterSeconds, unitMs })
}
type Delivered = { status: 'delivered'; pauseMs: 0 }

async function recordFailure(
  { db, log, metrics }: DeliverContext,
  { lease, candidate, health }: DeliveryAttempt,
  { url, outcome: { isGone, error } }: UrlOutcome,
) {
  const facts = { app: lease.appId, webhookId: lease.id, error }
  if (!health.isFailing) log.warn(facts, 'webhook failing')
  const mayDisable = isGone || isPersistent(candidate.attempts + 1)
  if (health.isFailing && !mayDisable) return
  if (!health.isFailing) health.isOver = true
  health.isFailing = true
  const reason = await markFailing(db, lease, { url, isGone, isPersistent: mayDisable })
  if (reason === undefined) return
  health.isOver = true
  metrics.webhooksDisabled.inc({ reason })
  log.warn({ ...facts, reason }, 'webhook disabled')
}
