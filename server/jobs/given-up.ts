import { limits } from '@parley/contract'
import type { JobHelpers } from 'graphile-worker'
import { isGivenUp, isJobOf } from '../core/given-up.ts'
import { MAX_ATTEMPTS } from '../core/jobs.ts'
import type { Fragment, Tx } from '../db/client.ts'
import { hasQueue, queueSchema } from '../db/own-schema.ts'
import { repeatUntilNone, type StepContext } from './delete-in-steps.ts'
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

/** The most jobs that a step reads: each may be that of a hundred messages. */
export const AT_ONCE = 200

/** Deletes the jobs that were given up too long ago. */
export const expireGivenUp = (context: StepContext) =>
  deleteGivenUp(
    context,
    (db) => db`job.updated_at < now() - ${limits.givenUpJobDays} * interval '1 day'`,
  )

/** Deletes the given-up jobs of an app. */
export const deleteGivenUpOf = (context: StepContext, appId: string) =>
  deleteGivenUp(context, (db) => isJobOf(db, appId))

type DeletedStep = { read: number; last: string }

/** A step reads so many given-up jobs, in the order of their ids, however few it deletes. */
function deleteGivenUp(context: StepContext, condition: (db: Tx) => Fragment) {
  let after = '0'
  return repeatUntilNone(context, async (db, limit) => {
    if (!(await hasQueue(db))) return { count: 0 }
    const jobs = db`${queueSchema(db)}._private_jobs`
    const [step] = await db<DeletedStep[]>`
      with given_up as materialized (
        select job.id, ${condition(db)} as is_due
        from ${jobs} job
        where job.id > ${after}
          and ${isGivenUp(db)}
        order by job.id
        limit ${Math.min(limit, AT_ONCE)}
      ),
      due as materialized (
        select job.id
        from ${jobs} job
        where job.id = any(array(select id from given_up where is_due))
          and ${isGivenUp(db)}
        for update skip locked
      ),
      deleted as (
        delete from ${jobs}
        where id = any(array(select id from due))
      )
      select count(*)::int as read, max(id)::text as last
      from given_up`
    after = step?.last ?? after
    return { count: step?.read ?? 0 }
  })
}
