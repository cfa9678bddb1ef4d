import type { ServerResponse } from 'node:http'
import { createJobStaging } from '@parley/server/core/jobs'
import { releaseWorkers } from '@parley/server/jobs/heartbeat'
import { startJobs } from '@parley/server/jobs/index'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabaseProxy } from './support/database-proxy.ts'
import { watchForDeath } from './support/deaths.ts'
import { idle } from './support/idle.ts'
import { silentLog, useStagingWorld } from './support/jobs.ts'
import { until } from './support/until.ts'

const staging = useStagingWorld()

/**
 * Enqueues the push of a message as a job in whose progress workers died, `deaths` times, the last
 * one this long ago.
 */
async function enqueueLocked(
  messageId: string,
  deaths: number,
  { worker = 'worker-gone', ago = '1 hour' } = {},
) {
  const { world } = staging.current()
  const { db, appId } = world
  const payload = { jobs: [{ appId, messageId }], since: new Date().toISOString(), tries: 0 }
  const attempts = 5 + deaths
  await db.begin(async (tx) => {
    const [job] = await tx<{ id: string }[]>`
      select id
      from graphile_worker.add_job(
        'push-message', ${db.json(payload)}::json, max_attempts => ${attempts}::int
      )`
    await tx`
      update graphile_worker._private_jobs
      set
        attempts = ${attempts},
        locked_by = ${worker},
        locked_at = now() - ${ago}::interval
      where id = ${job?.id ?? ''}`
    await tx`
      insert into job_workers (id, seen_at)
      values (${worker}, now() - ${ago}::interval)
      on conflict (id) do update
      set seen_at = excluded.seen_at`
  })
}

test('a job survives twenty deaths of its workers, and is given up at the next', async () => {
  const { world, provider } = staging.current()
  const errors: object[] = []
  const error = (facts: object, message: string) => void errors.push({ ...facts, message })
  await staging.startNode({ timings: { heartbeatMs: 600 }, log: { ...silentLog, error } })
  const [kept, lost] = [await staging.send('kept'), await staging.send('lost')]
  await until(() => provider.triggered().length === 2)
  await idle(world)
  provider.forget()
  await enqueueLocked(lost.id, 20)
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

/** How often the push of a message was sent. */
const sendsOf = (messageId: string) =>
  staging
    .current()
    .provider.triggered()
    .filter(({ payload }) => payload.messageId === messageId).length

test('a queue whose lines to the database fell silent is restarted', async () => {
  const { world } = staging.current()
  const { proxy, lines } = await startBehindProxy()
  const before = await staging.send('before')
  await until(() => sendsOf(before.id) === 1)
  // Until its end is recorded, a job may run again.
  await idle(world)
  proxy.silence()
  const after = await staging.send('after')
  // More than once if a slow machine finds the queue stalled meanwhile.
  await until(() => sendsOf(after.id) > 0)
  await idle(world)
  expect(lines).toContain('job queue stalled, will restart')
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

test('a job whose outcome was not stored gets its attempt back once no worker has it', async () => {
  const { db, pool, metrics } = staging.current().world
  await startBehindProxy()
  await enqueueLocked('00000000-0000-0000-0000-000000000000', 0, { worker: 'busy', ago: '0 s' })
  const jobs = () => db<{ id: string; left: number }[]>`
    select id, max_attempts - attempts as left
    from graphile_worker.jobs
    where task_identifier = 'push-message'`
  const notStored = new Set((await jobs()).map(({ id }) => id))
  const release = async () => {
    await releaseWorkers({ db: pool, metrics, log: silentLog }, { workers: [], notStored })
    return (await jobs()).map(({ left }) => left)
  }
  expect(await release()).toEqual([0])
  await db`update graphile_worker._private_jobs set locked_by = null, locked_at = null`
  expect(await release()).toEqual([1])
  expect(await release()).toEqual([1])
})

test('a process that runs jobs says of all its workers that they live', async () => {
  const { db } = staging.current().world
  await staging.startNode({ timings: { heartbeatMs: 1_000 } })
  // A pool and its workers: one for the cleanup, ten for previews and four for pushes.
  await until(async () => {
    const [row] = await db<{ count: number }[]>`select count(*)::int from job_workers`
    return row?.count === 3 + 15
  })
})

test('a worker keeps its job for as long as it lives', async () => {
  const { world, provider } = staging.current()
  await staging.startNode({ timings: { heartbeatMs: 200 } })
  await idle(world)
  provider.forget()
  const held: ServerResponse[] = []
  provider.behave((response) => void held.push(response))
  const { id } = await staging.send('in progress for several heartbeats')
  await until(() => held.length === 1)
  const beats = new Set<number>()
  await until(async () => {
    const workers = await world.db`
      select (extract(epoch from max(seen_at)) * 1000)::float as seen_at
      from job_workers`
    beats.add(workers[0]?.seenAt)
    return beats.size > 6
  })
  provider.behave()
  for (const response of held) response.writeHead(201).end('{"data":{"status":"processed"}}')
  await idle(world)
  expect(sendsOf(id)).toBe(1)
})

test('jobs that waited when the clock of the database was set back are not late', async () => {
  const { world, provider } = staging.current()
  await staging.startNode()
  const sent = [
    await staging.send('due when the clock was set back'),
    await staging.send('put off by then'),
  ]
  await idle(world)
  await staging.stopLast()
  provider.forget()
  const since = new Date().toISOString()
  const queued = sent.map(({ id: messageId }) => {
    return { jobs: [{ appId: world.appId, messageId }], since, tries: 0 }
  })
  await world.db`
    select
    from unnest(array[0, 120], ${queued.map((batch) => JSON.stringify(batch))}::text[])
        given (minutes, payload),
      graphile_worker.add_job(
        'push-message', payload::json,
        run_at => now() + make_interval(mins => 60 + minutes)
      )`
  await world.db`
    update graphile_worker._private_jobs
    set created_at = now() + interval '1 hour', updated_at = now() + interval '1 hour'
    where run_at > now() + interval '59 minutes'`
  await staging.startNode({ timings: { heartbeatMs: 100 } })
  await until(() => provider.kindsFor('ben').length > 0)
  const putOff = await world.db`
    select round(extract(epoch from run_at - now()) / 60)::int as minutes
    from graphile_worker.jobs
    where task_identifier = 'push-message'
      and locked_at is null`
  expect(provider.triggered()).toMatchObject([{ to: 'ben', payload: { messageId: sent[0]?.id } }])
  expect(putOff).toEqual([{ minutes: 120 }])
})
