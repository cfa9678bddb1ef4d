import type { Timings } from './timings.ts'

/**
 * Decides whether a node may declare others dead: only if nothing has kept it from writing its own
 * heartbeats for a while. A restart of the database, or a machine that stood still, may have kept
 * the others as well.
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
