import type { Timings } from './timings.ts'

/**
 * Tells whether a node may declare others dead, since they had the time to write a heartbeat:
 * nothing kept it from writing its own for a while. What does may keep the others as well, such as
 * a restart of the database, or a machine on which everything stands still.
 */
export function createSteadiness({ beatMs, steadyMs }: Pick<Timings, 'beatMs' | 'steadyMs'>) {
  let workedAt = Number.NEGATIVE_INFINITY
  let steadySince = Number.POSITIVE_INFINITY
  return {
    /** A heartbeat was written. */
    worked: () => {
      const now = performance.now()
      const isLate = now - workedAt > 2 * beatMs
      if (isLate) steadySince = now
      workedAt = now
    },
    failed: () => {
      workedAt = Number.NEGATIVE_INFINITY
    },
    isSteady: () => workedAt - steadySince >= steadyMs,
  }
}
