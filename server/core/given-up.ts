import type { Tx } from '../db/client.ts'
import { constant } from '../db/sql.ts'

/** Whether job `job` was given up. */
export const isGivenUp = constant(
  (db) => db`(job.attempts >= job.max_attempts and job.locked_at is null)`,
)

/** Whether given-up job `job` is one of this app: batches are split before they are given up. */
export const isJobOf = (db: Tx, appId: string) =>
  db`job.payload -> 'jobs' -> 0 ->> 'appId' = ${appId}`
