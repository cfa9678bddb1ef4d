import { createDb } from '../db/client.ts'
import { inSchema, locks } from '../db/locks.ts'

/** Prometheus asks more often, every two minutes at least: later its series are stale. */
const IDLE_MS = 150_000

/**
 * The right to show the metrics of the whole service, which one process has at a time: a lock of
 * its connection. When the process or its connection ends, or nobody asks it any more, the next
 * that is asked has it.
 */
export function createMetricsLease(url: string, { idleMs = IDLE_MS } = {}) {
  let idle: NodeJS.Timeout | undefined
  const db = createDb({ url, poolSize: 1, applicationName: 'parley-metrics' })
  let isReleased = false
  // If this fails the connection has ended, and the lock with it.
  const letGo = () => void db.use((db) => db`select pg_advisory_unlock_all()`).catch(() => {})
  return {
    isHeld: async () => {
      if (isReleased) return false
      clearTimeout(idle)
      const [row] = await db.use(
        (db) => db`
          select pg_try_advisory_lock(${locks.metrics}, ${inSchema(db)}) as is_held`,
      )
      clearTimeout(idle)
      if (row?.isHeld === true && !isReleased) idle = setTimeout(letGo, idleMs).unref()
      return row?.isHeld === true
    },
    release: async () => {
      isReleased = true
      clearTimeout(idle)
      await db.end({ timeout: 1 })
    },
  }
}
