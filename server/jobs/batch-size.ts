import { performance } from 'node:perf_hooks'
import { isStatementTimeout } from '../db/client.ts'

type BatchOptions = {
  /** How long a step may take if others wait for it. The first step then has few rows. */
  mostMs?: number
}

/** Fewer rows than this hardly make a step shorter. */
const FEW = 10
/** With `mostMs`, since others wait, the first step has `most` divided by this many rows. */
const FIRST_SHARE = 8

/**
 * Bounds steps by rows and time. If the database cancels a step for taking too long, it is repeated
 * with half as many rows; every success doubles the number again, up to `most`. With `mostMs`, a
 * step that took longer than that is followed by one with half as many rows, and the number grows
 * only after one that took less than half of it.
 */
export function createBatchSize(most: number, { mostMs }: BatchOptions = {}) {
  let rows = mostMs === undefined ? most : Math.ceil(most / FIRST_SHARE)
  const after = (tried: number, milliseconds: number) => {
    if (mostMs !== undefined && milliseconds > mostMs)
      return Math.min(tried, Math.max(FEW, Math.ceil(tried / 2)))
    if (mostMs !== undefined && milliseconds > mostMs / 2) return tried
    return Math.min(most, tried * 2)
  }
  const run = async <T>(step: (rows: number) => Promise<T>): Promise<T> => {
    const tried = rows
    const startedAt = performance.now()
    try {
      const result = await step(tried)
      rows = after(tried, performance.now() - startedAt)
      return result
    } catch (error) {
      if (!isStatementTimeout(error) || tried === 1) throw error
      rows = Math.ceil(tried / 2)
      return run(step)
    }
  }
  return { run }
}
export type BatchSize = ReturnType<typeof createBatchSize>
