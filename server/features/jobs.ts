import { contract, limits, type Output } from '@parley/contract'
import { noteAct } from '../core/audit.ts'
import { ApiError } from '../core/errors.ts'
import { isGivenUp, isJobOf } from '../core/given-up.ts'
import { MAX_ATTEMPTS } from '../core/jobs.ts'
import { type Implements, implement, implementWithoutTransaction } from '../core/operation.ts'
import type { Tx } from '../db/client.ts'
import { hasQueue, queueSchema } from '../db/own-schema.ts'
import { requireApp } from './apps/view.ts'
import { decodeCursor, encodeCursor, invalidCursor, toPage } from './cursors.ts'

type GivenUpJob = Output<typeof contract.jobs.list>['jobs'][number]

const list = implementWithoutTransaction(
  contract.jobs.list,
  async ({ db }, { appId, limit, offset, cursor }) => {
    await requireApp(db, appId)
    if (!(await hasQueue(db))) return { jobs: [], nextCursor: null }
    const rows = await db<(GivenUpJob & { micros: string })[]>`
      select
        job.id::text as id,
        task.identifier as task,
        json_array_length(job.payload -> 'jobs') as size,
        ${thingsOf(db, appId)} as about,
        coalesce(
          (job.payload ->> 'attempts')::int,
          (job.payload ->> 'tries')::int + job.attempts
        ) as attempts,
        coalesce(job.last_error, '') as reason,
        (job.payload ->> 'since')::timestamptz as staged_at,
        job.updated_at as failed_at,
        (extract(epoch from job.updated_at) * 1000000)::bigint::text as micros
      from ${queueSchema(db)}._private_jobs job
      join ${queueSchema(db)}._private_tasks task on task.id = job.task_id
      where ${isGivenUp(db)}
        and ${isJobOf(db, appId)}
        and ${isAfter(db, cursor)}
      order by job.updated_at desc, job.id desc
      limit ${limit + 1}
      offset ${offset}`
    const { page, nextCursor } = toPage(rows, limit, ({ micros, id }) => encodeCursor(micros, id))
    return { jobs: page.map(({ micros: _, ...job }) => job), nextCursor }
  },
)

const retry = implement(contract.jobs.retry, async (ctx, { appId, jobId }) => {
  const { db } = ctx
  await requireApp(db, appId)
  const [job] = (await hasQueue(db)) ? await returnToQueue(db, { appId, jobId }) : []
  if (!job) throw new ApiError('NOT_FOUND', 'Job not found')
  noteAct(ctx, { operation: 'jobs.retry', appId, target: { jobId } })
  return { success: true }
})

export const jobs = { list, retry } satisfies Implements<'jobs'>

/** The things that job `job` is about, with the channel of each message to find it by. */
const thingsOf = (db: Tx, appId: string) => db`(
  select coalesce(
    jsonb_agg(
      jsonb_build_object(
        'messageId', things.message_id,
        'channelId', coalesce(things.channel_id, msg.channel_id::text),
        'userId', things.user_id
      )
      order by things.ordinal
    ),
    '[]'
  )
  from (
    select
      one.ordinal,
      one.thing ->> 'messageId' as message_id,
      one.thing ->> 'channelId' as channel_id,
      one.thing ->> 'userId' as user_id
    from json_array_elements(job.payload -> 'jobs') with ordinality one (thing, ordinal)
    limit ${limits.jobThingsShown}
  ) things
  left join messages msg
    on msg.id = things.message_id::uuid
    and msg.app_id = ${appId}
  where num_nonnulls(things.message_id, things.channel_id, things.user_id) > 0
)`

/** Jobs after a cursor: those that were given up before it. */
function isAfter(db: Tx, cursor: string | undefined) {
  if (cursor === undefined) return db`true`
  const [micros, id] = decodeCursor(cursor)
  if (![micros, id].every((number) => /^\d{1,16}$/.test(number))) throw invalidCursor()
  const failedAt = db`(timestamptz 'epoch' + ${Number(micros)}::float8 * interval '1 microsecond')`
  return db`(job.updated_at, job.id) < (${failedAt}, ${id}::bigint)`
}

type JobRef = { appId: string; jobId: string }
type IdRow = { id: string }

/**
 * Its age and its attempts start again, so the reason of its earlier failure is dropped. It joins
 * the round that runs now: in its earlier one, retried jobs would come before all others. What
 * waits for a later time keeps an earlier round.
 */
const returnToQueue = (db: Tx, { appId, jobId }: JobRef) => db<IdRow[]>`
  update ${queueSchema(db)}._private_jobs job
  set
    attempts = 0,
    max_attempts = ${MAX_ATTEMPTS},
    last_error = null,
    priority = coalesce(
      (
        select waiting.priority
        from ${queueSchema(db)}._private_jobs waiting
        where waiting.is_available
          and waiting.task_id = job.task_id
          and waiting.run_at <= now()
        order by waiting.priority
        limit 1
      ),
      job.priority
    ),
    run_at = now(),
    updated_at = now(),
    payload = (
      job.payload::jsonb - '{reason,attempts}'::text[]
      || jsonb_build_object('since', now(), 'tries', 0)
    )::json
  where job.id = ${jobId}
    and ${isGivenUp(db)}
    and ${isJobOf(db, appId)}
  returning job.id`
