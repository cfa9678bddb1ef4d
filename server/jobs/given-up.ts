import { limits } from '@parley/contract'
import type { JobHelpers } from 'graphile-worker'
import { MAX_ATTEMPTS } from '../core/jobs.ts'
import type { Db } from '../db/client.ts'
import { queueSchema } from '../db/own-schema.ts'
import type { JobBatch, QueuedJob, QueuedTask } from './tasks.ts'

type GivenUp = { task: QueuedTask; batch: JobBatch; reason: string }

/**
 * Keeps a given-up batch for the operator, one job for each app, in the named queue of the job that
 * is running. The queue's own connections find its functions by their search path.
 */
export async function keepGivenUp(
  helpers: Pick<JobHelpers, 'query' | 'getQueueName'>,
  { task, batch, reason }: GivenUp,
) {
  const payloads = byApp(batch.jobs).map((jobs) => ({ ...batch, jobs }))
  const queueName = await helpers.getQueueName()
  await helpers.query(
    `select
    from unnest($2::text[]) as payload,
      add_job($1, payload::json, queue_name => $5, max_attempts => $3) added,
      permanently_fail_jobs(array[added.id], $4)`,
    [task, payloads.map((payload) => JSON.stringify(payload)), MAX_ATTEMPTS, reason, queueName],
  )
}

function byApp(jobs: QueuedJob[]) {
  const groups = new Map<string, QueuedJob[]>()
  for (const job of jobs) groups.set(job.appId, [...(groups.get(job.appId) ?? []), job])
  return [...groups.values()]
}

/** Deletes the jobs that were given up too long ago. */
export const expireGivenUp = (db: Db) =>
  db.use(
    (db) => db`
      delete from ${queueSchema(db)}._private_jobs job
      where job.attempts >= job.max_attempts
        and job.locked_at is null
        and job.updated_at < now() - ${limits.givenUpJobDays} * interval '1 day'`,
  )
