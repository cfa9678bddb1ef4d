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
 * The queue's cleanup job. It never fails: a failed job would be given up, which alerts an
 * operator, although the next cleanup does what is left.
 */
export function createCleanupJob({ db, cleanup, metrics, log }: CleanupJobOptions): Task {
  metrics.cleanupFailures.inc({ task: GIVEN_UP_JOBS }, 0)
  return async (_, { abortSignal }) => {
    await withTimeout(TIMEOUT_MS, abortSignal, (signal) =>
      Promise.race([cleanup.run(), once(signal, 'abort')]),
    )
    if (abortSignal?.aborted) return
    await expireGivenUp(db).catch((error) => {
      if (!isConnectionLost(error)) metrics.cleanupFailures.inc({ task: GIVEN_UP_JOBS })
      log[levelOf(error, 'error')]({ err: error, task: GIVEN_UP_JOBS }, 'cleanup failed')
    })
  }
}
