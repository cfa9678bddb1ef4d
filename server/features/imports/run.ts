import { randomUUID } from 'node:crypto'
import { type ImportReport, limits } from '@parley/contract'
import type { Act } from '../../core/audit.ts'
import type { ImportMetrics } from '../../core/context.ts'
import { ApiError } from '../../core/errors.ts'
import type { Tx } from '../../db/client.ts'
import { applyBatch } from './batch.ts'
import { finishChannels } from './finish.ts'
import { batchesOf, type ImportLine } from './lines.ts'
import { selectUnfinished } from './read-channels.ts'
import { isJson, type ParsedRecord, parseLine, plurals, type Refusal, timesOf } from './records.ts'

type ImportOptions = {
  appId: string
  body: AsyncIterable<Uint8Array>
  /** How long no line may come; by default as long as over HTTP. */
  stalledMs?: number
  /** Runs a short transaction. No connection is held between two. */
  inTransaction: <T>(work: (db: Tx) => Promise<T>) => Promise<T>
  /** Notes in the audit log who imports. */
  note: (db: Tx, act: Act) => PromiseLike<object>
  metrics: ImportMetrics
  /** Called after each step. */
  onProgress?: (report: ImportReport) => void
}

/**
 * Reads the records of a body, imports them in batches, and then shows the channels that it has
 * brought. Nothing but one batch and the report is in memory.
 */
export async function runImport(options: ImportOptions): Promise<ImportReport> {
  const { metrics } = options
  let outcome = 'failed'
  metrics.importsRunning.inc()
  try {
    const report = await readImport(options)
    outcome = report.isFinished ? 'finished' : 'unfinished'
    return report
  } finally {
    metrics.importsRunning.dec()
    metrics.imports.inc({ outcome })
  }
}

async function readImport(options: ImportOptions): Promise<ImportReport> {
  const { appId, body, stalledMs, inTransaction, note, metrics, onProgress } = options
  const report = emptyReport()
  const runId = randomUUID()
  await inTransaction(async (db) => {
    await takeLease(db, appId, runId)
    await note(db, { operation: 'imports.run', appId, target: { runId } })
  })
  const step = <T>(work: (db: Tx, now: string) => Promise<T>) =>
    inTransaction(async (db) => work(db, await renewLease(db, appId, runId)))
  const onRefusal = (refusal: Refusal) => {
    metrics.importedRecords.inc({ outcome: 'refused' })
    recordRefusal(report, refusal)
  }
  try {
    let isCutOff = false
    for await (const lines of batchesOf(body, stalledMs)) {
      const { parsed, refusals } = parse(lines)
      const batch = await step(async (db, now) => {
        const { past, refusals } = withoutFuture(parsed, now)
        const outcomes = await applyBatch(db, { appId, runId, parsed: past })
        return { outcomes, refusals }
      })
      refusals.push(...batch.refusals)
      for (const { line, kind, outcome } of batch.outcomes) {
        if (typeof outcome === 'object') refusals.push({ line, reason: outcome.reason })
        else {
          metrics.importedRecords.inc({ outcome })
          report[outcome][plurals[kind]] += 1
        }
      }
      for (const refusal of refusals.sort(byLine)) onRefusal(refusal)
      report.lines = lines.at(-1)?.line ?? report.lines
      isCutOff = lines.some((line) => line.isCutOff && !('text' in line && isJson(line.text)))
      onProgress?.(report)
    }
    if (report.lines > 0 && !isCutOff) {
      await finishChannels({ appId, runId, step, onRefusal })
      const { imported, refused } = report
      const target = { runId, imported, refused }
      await step(async (db) => await note(db, { operation: 'imports.finished', appId, target }))
      report.isFinished = true
    }
    report.unfinishedChannelIds = await step((db) => selectUnfinished(db, appId))
    return report
  } finally {
    // If this fails, the lease ends by itself.
    await inTransaction((db) => releaseLease(db, appId, runId)).catch(() => {})
  }
}

const noCounts = () => ({
  users: 0,
  channels: 0,
  members: 0,
  messages: 0,
  reactions: 0,
  pins: 0,
  reads: 0,
})

const emptyReport = (): ImportReport => ({
  lines: 0,
  isFinished: false,
  imported: noCounts(),
  skipped: noCounts(),
  refused: 0,
  refusals: [],
  unfinishedChannelIds: [],
})

/**
 * Keeps the refusals of the first lines, up to a maximum. They come in the order of their lines,
 * except those found at the end.
 */
function recordRefusal(report: ImportReport, { line, reason }: Refusal) {
  const { refusalsShown, reasonLength } = limits.imports
  const { refusals } = report
  report.refused += 1
  const index = refusals.findLastIndex((other) => other.line <= line) + 1
  if (index >= refusalsShown) return
  // The reason may name each field of a long line.
  const short = `${reason.slice(0, reasonLength - 1).toWellFormed()}…`
  refusals.splice(index, 0, { line, reason: reason.length > reasonLength ? short : reason })
  if (refusals.length > refusalsShown) refusals.pop()
}

const byLine = (a: Refusal, b: Refusal) => a.line - b.line

function parse(lines: ImportLine[]) {
  const results = lines.map(parseLine)
  return {
    parsed: results.filter((one): one is ParsedRecord => 'record' in one),
    refusals: results.filter((one): one is Refusal => 'reason' in one),
  }
}

/** The records without those that have a time after `now`. */
function withoutFuture(parsed: ParsedRecord[], now: string) {
  const refusals: Refusal[] = []
  const limit = new Date(now)
  const past = parsed.filter(({ line, record }) => {
    const [late] = timesOf(record).filter(({ value }) => new Date(value) > limit)
    if (late) refusals.push({ line, reason: `${late.name}: expected a time in the past` })
    return !late
  })
  return { past, refusals }
}

const { leaseSeconds } = limits.imports

/**
 * One import of an app runs at a time, whichever server it runs on. A lease with more time left
 * than any is given was taken before the clock was set back.
 */
async function takeLease(db: Tx, appId: string, runId: string) {
  const [taken] = await db`
    insert into imports as i (app_id, run_id, leased_until)
    values (${appId}, ${runId}, clock_timestamp() + ${leaseSeconds} * interval '1 second')
    on conflict (app_id) do update
    set run_id = excluded.run_id, leased_until = excluded.leased_until
    where i.leased_until < clock_timestamp()
      or i.leased_until > clock_timestamp() + ${2 * leaseSeconds} * interval '1 second'
    returning i.run_id`
  if (!taken) throw otherImport()
}

/** Returns the time. The row stays locked, so that no other import of the app runs meanwhile. */
async function renewLease(db: Tx, appId: string, runId: string) {
  const [renewed] = await db<{ now: string; isOpen: boolean }[]>`
    update imports
    set leased_until = clock_timestamp() + ${leaseSeconds} * interval '1 second'
    where app_id = ${appId}
      and run_id = ${runId}
    returning
      clock_timestamp() as now,
      (
        select num_nulls(a.disabled_at, a.deleted_at) = 2
        from apps a
        where a.id = app_id
      ) as is_open`
  if (!renewed) throw otherImport()
  if (!renewed.isOpen)
    throw new ApiError('APP_DISABLED', 'The app was disabled or deleted during the import')
  return renewed.now
}

const releaseLease = (db: Tx, appId: string, runId: string) => db`
  delete from imports
  where app_id = ${appId}
    and run_id = ${runId}`

const otherImport = () =>
  new ApiError('RATE_LIMITED', 'Another import of this app is running', leaseSeconds)
