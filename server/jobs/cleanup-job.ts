import { once } from 'node:events'
import type { Task } from 'graphile-worker'
import type { Log } from '../core/log.ts'
import type { Metrics } from '../core/metrics.ts'
import { withTimeout } from '../core/with-timeout.ts'
import { type Db, isConnectionLost } from '../db/client.ts'
import type { Cleanup } from './cleanup.ts'
import { expireGivenUp } from './given-up.ts'
import { levelOf } from './log.ts'

const TIMEOUT_MS = 60_000
/** A part of the cleanup, like its tasks. */
const GIVEN_UP_JOBS = 'given_up_jobs'

type CleanupJobOptions = {
  db: Db
  cleanup: Pick<Cleanup, 'run'>
  metrics: Pick<Metrics, 'cleanupFailures'>
  log: Log
}

/**
 * The queue's job that cleans up. It never fails: that would be a job given up, for which an
 * operator is called, while the next cleanup does what is left of this one.
 */
export const createCleanupJob =
  ({ db, cleanup, metrics, log }: CleanupJobOptions): Task =>
  async (_, { abortSignal }) => {
    await withTimeout(TIMEOUT_MS, abortSignal, (signal) =>
      Promise.race([cleanup.run(), once(signal, 'abort')]),
    )
    if (abortSignal?.aborted) return
    await expireGivenUp(db).catch((error) => {
      if (!isConnectionLost(error)) metrics.cleanupFailures.inc({ task: GIVEN_UP_JOBS })
      log[levelOf(error, 'error')]({ err: error, task: GIVEN_UP_JOBS }, 'cleanup failed')
    })
  }
