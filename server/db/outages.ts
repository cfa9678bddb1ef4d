import { isBlocked, isDatabaseUnavailable } from './availability.ts'

/** The database has become unavailable, or is available again after so many failures. */
export type OutageChange =
  | { isOver: false; error: unknown }
  | { isOver: true; milliseconds: number; failures: number }

export type Outages = ReturnType<typeof createOutages>

/** Detects by the outcomes of work when an outage of the database begins and ends. */
export function createOutages() {
  const listeners = new Set<(change: OutageChange) => void>()
  let began: number | undefined
  let failures = 0
  const notify = (change: OutageChange) => {
    for (const listener of listeners) listener(change)
  }
  return {
    worked: () => {
      if (began === undefined) return
      const milliseconds = Math.round(performance.now() - began)
      began = undefined
      notify({ isOver: true, milliseconds, failures })
    },
    failed: (error: unknown) => {
      if (!isDatabaseUnavailable(error)) return
      // One busy channel is no outage: others are served.
      if (began === undefined && isBlocked(error)) return
      failures = began === undefined ? 1 : failures + 1
      if (began !== undefined) return
      began = performance.now()
      notify({ isOver: false, error })
    },
    subscribe: (listener: (change: OutageChange) => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** One line when an outage begins, and one when it is over. */
export const logOutages = (
  outages: Pick<Outages, 'subscribe'>,
  log: Record<'warn' | 'info', (facts: object, message: string) => void>,
) =>
  outages.subscribe((change) => {
    if (change.isOver) {
      const { milliseconds: ms, failures } = change
      return log.info({ ms, failures }, 'database available again')
    }
    const fault = change.error instanceof Error ? change.error.message : undefined
    log.warn({ fault }, 'database unavailable')
  })
