import { isBlocked, isDatabaseUnavailable, isDiskFull } from './availability.ts'

/** An outage of the database, or a full disk, begins, or ends after `failures` failures. */
type OutageChange = { of: 'database' | 'disk' } & BeginOrEnd
type BeginOrEnd =
  | { isOver: false; error: unknown }
  | { isOver: true; milliseconds: number; failures: number }

export type Outages = ReturnType<typeof createOutages>

/**
 * How long a disk counts as full after a refused write. Reads work all the time, and small writes
 * now and then, so success means nothing before. Clients repeat what was refused more often.
 */
const FULL_MS = 60_000

/**
 * Detects by the outcomes of work when an outage of the database begins and ends. A full disk is
 * another one: reads are served.
 */
export function createOutages() {
  const listeners = new Set<(change: OutageChange) => void>()
  const track = (of: OutageChange['of']) =>
    createOutage((change) => {
      for (const listener of listeners) listener({ of, ...change })
    })
  const database = track('database')
  const disk = track('disk')
  return {
    worked: () => {
      database.end()
      if (disk.quietMs() >= FULL_MS) disk.end()
    },
    failed: (error: unknown) => {
      if (isDiskFull(error)) return disk.fail(error)
      if (!isDatabaseUnavailable(error)) return
      // One busy channel is no outage: others are served.
      if (database.isOver() && isBlocked(error)) return
      database.fail(error)
    },
    isDiskFull: () => !disk.isOver(),
    subscribe: (listener: (change: OutageChange) => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

function createOutage(notify: (change: BeginOrEnd) => void) {
  let began: number | undefined
  let failedAt = 0
  let failures = 0
  return {
    isOver: () => began === undefined,
    /** The time since its last failure. */
    quietMs: () => performance.now() - failedAt,
    fail: (error: unknown) => {
      failures = began === undefined ? 1 : failures + 1
      failedAt = performance.now()
      if (began !== undefined) return
      began = failedAt
      notify({ isOver: false, error })
    },
    end: () => {
      if (began === undefined) return
      const milliseconds = Math.round(performance.now() - began)
      began = undefined
      notify({ isOver: true, milliseconds, failures })
    },
  }
}

const LINES = {
  database: { begins: 'database unavailable', ends: 'database available again' },
  disk: { begins: 'database disk full', ends: 'database disk no longer full' },
}

/** One line when an outage begins, and one when it is over. */
export const logOutages = (
  outages: Pick<Outages, 'subscribe'>,
  log: Record<'warn' | 'info', (facts: object, message: string) => void>,
) =>
  outages.subscribe((change) => {
    const { begins, ends } = LINES[change.of]
    if (change.isOver) {
      const { milliseconds: ms, failures } = change
      return log.info({ ms, failures }, ends)
    }
    const fault = change.error instanceof Error ? change.error.message : undefined
    log.warn({ fault }, begins)
  })
