import type { Timings } from './timings.ts'

/**
 * Decides whether a node may declare others dead: only if it could write its own heartbeats for a
 * while. What stopped these, like a restart of the database or a frozen machine, may have stopped
 * the others' as well.
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
