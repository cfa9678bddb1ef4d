import { createJobStaging } from '@parley/server/core/jobs'
import { startDraining } from '@parley/server/jobs/drain'
import { createRounds } from '@parley/server/jobs/rounds'
import type { QueuedTask } from '@parley/server/jobs/tasks'
import { timings } from '@parley/server/jobs/timings'
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { createQueue } from './support/given-up-job.ts'
import { silentLog } from './support/jobs.ts'
import { NEVER, quietTimings } from './support/quiet.ts'
import { discardPlans, rowsReadBy } from './support/rows-read.ts'
import { until } from './support/until.ts'
import { useWorld } from './support/world.ts'

const world = useWorld({ poolSize: 1, timings: quietTimings })

beforeAll(() => createQueue(world()))
beforeEach(async () => {
  await world().db`truncate staged_jobs`
  await world().db`delete from graphile_worker._private_jobs`
})

/** Stages so many jobs of a task, as a minute and more ago. */
const stage = (task: QueuedTask, count: number) => world().db`
  insert into staged_jobs (task, payload, created_at)
  select
    ${task}, json_build_object('appId', ${world().appId}::text, 'messageId', n, 'userId', n),
    now() - interval '2 minutes'
  from generate_series(1, ${count}::int) n
  order by n`

/** Drains jobs of these tasks once. */
const drain = (...tasks: QueuedTask[]) => openDraining(tasks).stop()

function openDraining(tasks: QueuedTask[]) {
  const warnings: string[] = []
  const staging = createJobStaging([])
  const stop = startDraining({
    ...{ db: world().pool, tasks, staging, rounds: createRounds() },
    timings: { ...timings, gatherMs: 0, pollMs: NEVER },
    log: { ...silentLog, warn: (_, message) => void warnings.push(message) },
  })
  return { warnings, wake: staging.wake, stop }
}

const stagedTasks = async () => {
  const rows = await world().db<{ task: string }[]>`
    select distinct sj.task
    from staged_jobs sj`
  return rows.map(({ task }) => task)
}

test('a long queue of staged jobs of one task does not delay jobs of another', async () => {
  await stage('subscriber-removal', 1_001)
  await stage('preview', 1)
  await drain('subscriber-removal', 'preview')
  expect(await stagedTasks()).toEqual(['subscriber-removal'])
  await drain('subscriber-removal', 'preview')
  expect(await stagedTasks()).toEqual([])
})

test('a drain reads few of the staged jobs that its process does not handle', async () => {
  const { db } = world()
  // As if all jobs were of the task that is drained: the first index would do for these.
  await stage('preview', 2_000)
  await db`analyze staged_jobs`
  await discardPlans(world())
  for (const _ of [1, 2]) await drain('preview')
  await stage('push-message', 5_000)
  await db`delete from graphile_worker._private_jobs`
  await discardPlans(world())
  for (const plan of ['generic', 'custom'] as const) {
    const first = () => drain('preview')
    expect(await rowsReadBy(world(), plan, first)).toBeLessThan(1_500)
  }

  const { warnings, wake, stop } = openDraining(['preview'])
  onTestFinished(async () => void (await stop()))
  await until(() => warnings.length > 0)
  const queued = async () => {
    const [row] = await db<{ count: number }[]>`
      select count(*)::int as count
      from graphile_worker._private_jobs`
    return row?.count ?? 0
  }
  const next = async () => {
    const before = await queued()
    await stage('preview', 1)
    wake()
    await until(async () => (await queued()) > before)
  }
  for (const plan of ['generic', 'custom'] as const)
    expect(await rowsReadBy(world(), plan, next)).toBeLessThan(300)
})
