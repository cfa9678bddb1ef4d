import type { ServerResponse } from 'node:http'
import { createJobStaging } from '@parley/server/core/jobs'
import type { Db, Tx } from '@parley/server/db/client'
import { inSchema, locks } from '@parley/server/db/locks'
import { releaseWorkers, startHeartbeat } from '@parley/server/jobs/heartbeat'
import { startJobs } from '@parley/server/jobs/index'
import { timings } from '@parley/server/jobs/timings'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabaseProxy } from './support/database-proxy.ts'
import { watchForDeath } from './support/deaths.ts'
import { idle } from './support/idle.ts'
import { silentLog, useStagingWorld } from './support/jobs.ts'
import { lockedJobs } from './support/locked-jobs.ts'
import { whileRowLocked } from './support/locks.ts'
import { until } from './support/until.ts'

const staging = useStagingWorld()
const { sendsOf, heartbeats } = staging
const enqueueLocked = lockedJobs(() => staging.current().world)

test('a job survives twenty deaths of its workers, and is given up at the next', async () => {
  const { world, provider } = staging.current()
  const errors: object[] = []
  const error = (facts: object, message: string) => void errors.push({ ...facts, message })
  await staging.startNode({ timings: { heartbeatMs: 600 }, log: { ...silentLog, error } })
  const [kept, lost] = [await staging.send('kept'), await staging.send('lost')]
  await until(() => provider.triggered().length === 2)
  await idle(world)
  provider.forget()
  await enqueueLocked(lost.id, 20, { attempts: 21 })
  await until(() => errors.length > 0)
  // The clock of the database was set back since.
  await enqueueLocked(kept.id, 19, { worker: 'worker-ahead', ago: '-1 hour' })
  await until(() => provider.triggered().length > 0)
  await idle(world)
  expect(provider.triggered()).toMatchObject([{ payload: { messageId: kept.id } }])
  expect(errors).toEqual([
    {
      task: 'push-message',
      jobId: expect.any(String),
      deaths: 21,
      message: 'job given up: its workers died',
    },
  ])
  const { jobs } = await world.operator.jobs.list({ appId: world.appId })
  expect(jobs).toMatchObject([{ attempts: 21, reason: 'its workers died' }])
})

/** Starts the jobs of a process whose lines to the database can be cut or silenced. */
async function startBehindProxy() {
  const { world, provider } = staging.current()
  const proxy = await openDatabaseProxy(world.databaseUrl)
  const lines: string[] = []
  const record = (_: object, message: string) => void lines.push(message)
  const stop = await startJobs({
    db: world.pool,
    databaseUrl: proxy.url,
    staging: createJobStaging([]),
    publisher: { publish: () => {}, broadcast: () => {} },
    metrics: world.metrics,
    cleanup: world.cleanup,
    log: { ...silentLog, warn: record, error: record },
    previews: { allowedHosts: [] },
    push: provider.settings,
    webhooks: { allowedHosts: [] },
    timings: { gatherMs: 20, pollMs: 100, graceMs: 500, stalledMs: 1_000 },
  })
  onTestFinished(async () => {
    await stop()
    proxy.stop()
  })
  return { proxy, lines }
}

test('a queue whose lines to the database fell silent is restarted', async () => {
  const { world } = staging.current()
  const { proxy, lines } = await startBehindProxy()
  const before = await staging.send('before')
  await until(() => sendsOf(before.id) === 1)
  // Until its end is recorded, a job may run again.
  await idle(world)
  proxy.silence()
  const after = await staging.send('after')
  // A line that the queue opens meanwhile is not silent: the job may be done before it restarts.
  await until(() => lines.includes('job queue stalled, will restart'))
  // More than once if a slow machine finds the queue stalled meanwhile.
  await until(() => sendsOf(after.id) > 0)
  await idle(world)
  expect(sendsOf(before.id)).toBe(1)
})

test.each([
  ['success', 201],
  ['failure', 403],
])('a job whose %s cannot be recorded runs again, and the process lives on', async (_, status) => {
  const { world, provider } = staging.current()
  const deaths = watchForDeath()
  const { proxy } = await startBehindProxy()
  const held: ServerResponse[] = []
  provider.behave((response) => void held.push(response))
  const message = await staging.send('recorded late')
  await until(() => held.length === 1)
  proxy.silence()
  provider.behave()
  for (const response of held) response.writeHead(status).end('{"data":{"status":"processed"}}')
  // A slow machine may find the queue stalled once more, and run it once more.
  await until(() => sendsOf(message.id) >= 2)
  await idle(world)
  expect(deaths).toEqual([])
})

test('a process whose jobs were stopped listens for nothing of theirs', async () => {
  const listeners = () => process.listenerCount('unhandledRejection')
  const before = listeners()
  await staging.startNode()
  expect(listeners()).toBeGreaterThan(before)
  await staging.stopLast()
  expect(listeners()).toBe(before)
})

/** A job in progress, whose outcome this process could not store. */
async function interruptJob() {
  const { db, pool, metrics } = staging.current().world
  await staging.startNode()
  await enqueueLocked('00000000-0000-0000-0000-000000000000', 0, { worker: 'busy', ago: '0 s' })
  const jobs = () => db<{ id: string; left: number; maxAttempts: number }[]>`
    select id, max_attempts - attempts as left, max_attempts
    from graphile_worker.jobs
    where task_identifier = 'push-message'`
  const notStored = new Map((await jobs()).map((job) => [job.id, job.maxAttempts]))
  /** Returns how many attempts it has left. */
  const release = async (given: { workers?: string[]; notStored?: Map<string, number> } = {}) => {
    const released = { workers: [], notStored, ...given }
    await releaseWorkers({ db: pool, metrics, log: silentLog }, released)
    return (await jobs()).map(({ left }) => left)
  }
  // It is not due: the process that was started would run it.
  await db`update graphile_worker._private_jobs set run_at = now() + interval '1 hour'`
  return { release }
}

test('a job whose outcome was not stored gets its attempt back once no worker has it', async () => {
  const { release } = await interruptJob()
  expect(await release()).toEqual([0])
  await staging.current().world.db`
    update graphile_worker._private_jobs
    set locked_by = null, locked_at = null`
  expect(await release()).toEqual([1])
  expect(await release()).toEqual([1])
})

test('a job that another process has released gets no second attempt back', async () => {
  const { release } = await interruptJob()
  expect(await release({ workers: ['busy'], notStored: new Map() })).toEqual([1])
  expect(await release()).toEqual([1])
})

test('two processes that release a job at once give it back one attempt', async () => {
  const { release } = await interruptJob()
  const { world } = staging.current()
  const isWaiting = async () => {
    const waiting = await world.db`
      select
      from pg_stat_activity
      where datname = current_database()
        and wait_event = 'advisory'`
    return waiting.length > 0
  }
  const lock = (sql: Tx) => sql`select pg_advisory_xact_lock(${locks.release}, ${inSchema(sql)})`
  const { releasing } = await whileRowLocked(world, lock, async (sql) => {
    const releasing = release({ workers: ['busy'], notStored: new Map() })
    await until(isWaiting)
    await sql`
      update graphile_worker._private_jobs
      set locked_by = null, locked_at = null, max_attempts = max_attempts + 1`
    return { releasing }
  })
  expect(await releasing).toEqual([1])
})

/** The heartbeat of a process, some of whose writes are lost, and a job of another's worker. */
async function startBeating(
  { heartbeatMs }: { heartbeatMs: number },
  isLost: (beat: number) => boolean,
) {
  const { db, pool, metrics } = staging.current().world
  await staging.startNode({ timings: { heartbeatMs: 3_600_000 } })
  const enqueue = () =>
    enqueueLocked('00000000-0000-0000-0000-000000000000', 0, { worker: 'other' })
  await enqueue()
  let beats = 0
  const useApart: Db['useApart'] = (...given) => {
    beats += 1
    return isLost(beats) ? Promise.reject(new Error('lost')) : pool.useApart(...given)
  }
  const stop = startHeartbeat({
    db: { ...pool, useApart },
    queue: { workers: new Set(['this']), notStored: new Map() },
    timings: { ...timings, heartbeatMs },
    metrics,
    log: silentLog,
  })
  onTestFinished(stop)
  const isHeld = async () => {
    const [job] = await db`
      select
      from graphile_worker.jobs
      where locked_by = 'other'`
    return job !== undefined
  }
  return { enqueue, isHeld, beats: () => beats }
}

test('a worker keeps its job when no process wrote a heartbeat for a while', async () => {
  let isOut = false
  const { enqueue, isHeld, beats } = await startBeating({ heartbeatMs: 500 }, () => isOut)
  // All processes may have been away until this one started.
  await heartbeats(2)
  expect(await isHeld()).toBe(true)
  // It had the time to say that it lives.
  await until(async () => !(await isHeld()))
  isOut = true
  const before = beats()
  await until(() => beats() > before + 2)
  await enqueue()
  isOut = false
  await heartbeats(2)
  expect(await isHeld()).toBe(true)
  await until(async () => !(await isHeld()))
})

test('a dead worker loses its job although some heartbeats of others are lost', async () => {
  const { isHeld } = await startBeating({ heartbeatMs: 200 }, (beat) => beat % 3 === 1)
  await until(async () => !(await isHeld()))
})
