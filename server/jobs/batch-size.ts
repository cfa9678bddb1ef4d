import { isStatementTimeout } from '../db/client.ts'

/**
 * Bounds steps by rows and by time: a step that the database cancels for taking too long is
 * repeated with half as many rows, and every success doubles their number again, up to `most`.
 */
export function createBatchSize(most: number) {
  let rows = most
  const run = async <T>(step: (rows: number) => Promise<T>): Promise<T> => {
    const tried = rows
    try {
      const result = await step(tried)
      rows = Math.min(most, tried * 2)
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
