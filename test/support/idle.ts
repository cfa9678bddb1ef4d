import { until } from './until.ts'
import type { World } from './world.ts'

/** Waits until no jobs are staged or queued, except those given up. */
export const idle = ({ db }: Pick<World, 'db'>) =>
  until(async () => {
    const [row] = await db<{ count: number }[]>`
      select (select count(*) from staged_jobs)::int
        + (
          select count(*)
          from graphile_worker.jobs job
          where job.attempts < job.max_attempts
        )::int as count`
    return row?.count === 0
  })

/** Waits until all staged jobs have been moved to the queue. */
export const drained = ({ db }: Pick<World, 'db'>) =>
  until(async () => {
    const staged = await db`
      select id
      from staged_jobs`
    return staged.length === 0
  })

/** Stages the push of a message, as its send does. */
export const stagePush = ({ db, appId }: Pick<World, 'db' | 'appId'>, messageId: string) => db`
  insert into staged_jobs (task, payload)
  values ('push-message', ${db.json({ appId, messageId })})`
