import { createJobStaging } from '@parley/server/core/jobs'
import type { Db } from '@parley/server/db/client'
import { startDraining } from '@parley/server/jobs/drain'
import { createRounds } from '@parley/server/jobs/rounds'
import { timings } from '@parley/server/jobs/timings'
import { expect, test } from 'vitest'
import { upTo } from './support/events.ts'
import { silentLog, useStagingWorld } from './support/jobs.ts'
import { until } from './support/until.ts'

const staging = useStagingWorld()

test('jobs are moved to the queue in the order in which they were staged', async () => {
  const { db, appId, pool } = staging.current().world
  // Makes the queue.
  await staging.startNode()
  await staging.stopLast()
  await db`
    insert into staged_jobs (task, payload)
    select 'push-message', json_build_object('appId', ${appId}::text, 'messageId', n)
    from generate_series(1, 1001) n
    order by n`
  let drains = 0
  const use = (async (work: never) => {
    drains += 1
    return drains === 1 ? pool.use(work) : { moved: 0, unclaimed: [], running: [], next: [] }
  }) as Db['use'] // the second one finds nothing
  const stop = startDraining({
    db: { ...pool, use },
    tasks: ['push-message'],
    staging: createJobStaging([]),
    rounds: createRounds(),
    timings,
    log: silentLog,
  })
  await until(() => drains === 2)
  await stop()
  const queued = await db<{ jobs: { messageId: number }[] }[]>`
    select job.payload -> 'jobs' as jobs
    from graphile_worker._private_jobs job
    join graphile_worker._private_tasks task on task.id = job.task_id
    where task.identifier = 'push-message'
    order by job.id`
  expect(queued).toHaveLength(10)
  expect(queued.flatMap(({ jobs }) => jobs).map(({ messageId }) => messageId)).toEqual(upTo(1_000))
  const left = await db<{ payload: { messageId: number } }[]>`
    select payload
    from staged_jobs`
  expect(left.map(({ payload }) => payload.messageId)).toEqual([1_001])
})

test('staged jobs of an app take one round each, from the running one on', async () => {
  const { db, appId, pool } = staging.current().world
  await staging.startNode()
  await staging.stopLast()
  await db`
    select
    from graphile_worker.add_job('push-invite', '{}', priority => 5) waiting,
      graphile_worker.add_job('preview', '{}', priority => 3) other`
  await db`
    insert into staged_jobs (task, payload)
    select 'push-invite', json_build_object('appId', app, 'n', n)
    from unnest(array[${appId}::text, 'busy']) app, generate_series(1, 3) n`
  const rounds = createRounds()
  rounds.drained({ running: [], next: [{ task: 'push-invite', appId: 'busy', round: 40 }] })
  const stop = startDraining({
    db: pool,
    tasks: ['push-invite', 'preview'],
    staging: createJobStaging([]),
    rounds,
    timings,
    log: silentLog,
  })
  await until(() => rounds.ahead().length === 2)
  await stop()
  const queued = await db<{ priority: number }[]>`
    select job.priority
    from graphile_worker.jobs job
    where job.task_identifier = 'push-invite'
    order by job.priority, job.id`
  expect(queued.map(({ priority }) => priority)).toEqual([5, 5, 6, 7, 40, 41, 42])
  const next = new Map(rounds.ahead().map(({ appId, round }) => [appId, round]))
  expect(next).toEqual(
    new Map([
      ['busy', 43],
      [appId, 8],
    ]),
  )
})

test('an app keeps its turns while all its jobs are put off', async () => {
  const { db, appId, pool } = staging.current().world
  await staging.startNode()
  await staging.stopLast()
  const rounds = createRounds()
  const drain = () => {
    const options = { db: pool, staging: createJobStaging([]), rounds, timings, log: silentLog }
    // It ends after the first drain.
    return startDraining({ ...options, tasks: ['subscriber'] })()
  }
  for (const n of upTo(3)) {
    await db`
      insert into staged_jobs (task, payload)
      values ('subscriber', ${db.json({ appId, userId: `user-${n}` })})`
    await drain()
    await db`
      update graphile_worker._private_jobs
      set run_at = now() + interval '1 hour'`
    await drain()
  }
  const queued = await db<{ priority: number }[]>`
    select job.priority
    from graphile_worker.jobs job
    where job.task_identifier = 'subscriber'
    order by job.id`
  expect(queued.map(({ priority }) => priority)).toEqual([0, 1, 2])
})
