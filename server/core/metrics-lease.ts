import { createDb } from '../db/client.ts'
import { inSchema, locks } from '../db/locks.ts'

/**
 * The right to show the metrics of the whole service, which one process has at a time: a lock of
 * its connection. When the process or its connection ends, the next that is asked has it.
 */
export function createMetricsLease(url: string) {
  const db = createDb({ url, poolSize: 1, applicationName: 'parley-metrics' })
  let isReleased = false
  return {
    isHeld: async () => {
      if (isReleased) return false
      const [row] = await db.use(
        (db) => db`
          select pg_try_advisory_lock(${locks.metrics}, ${inSchema(db)}) as is_held`,
      )
      return row?.isHeld === true
    },
    release: async () => {
      isReleased = true
      await db.end({ timeout: 1 })
    },
  }
}
