import { once } from 'node:events'
import type { Task } from 'graphile-worker'
import { withTimeout } from '../core/with-timeout.ts'
import type { Cleanup } from './cleanup.ts'

const TIMEOUT_MS = 60_000

/**
 * The queue's cleanup job. It never fails: a failed job would be given up, which alerts an
 * operator, although the next cleanup does what is left.
 */
export const createCleanupJob =
  (cleanup: Pick<Cleanup, 'run'>): Task =>
  async (_, { abortSignal }) => {
    await withTimeout(TIMEOUT_MS, abortSignal, (signal) =>
      Promise.race([cleanup.run(), once(signal, 'abort')]),
    )
  }
