import { limits } from '@parley/contract'
import { connectOnce, type Db } from '@parley/server/db/client'
import { watchWorkers } from '@parley/server/jobs/watch-workers'
import { expect, inject, onTestFinished, test, vi } from 'vitest'
import { stopClock } from './support/clock.ts'
import { silentLog } from './support/jobs.ts'
import { patient, until } from './support/until.ts'
import { createWorld, useWorld } from './support/world.ts'

const world = useWorld()

test('health reports the version and the database, and liveness only the version', async () => {
  const { url } = world()
  const answer = async (path: string) => {
    const response = await fetch(url + path)
    return { status: response.status, body: await response.json() }
  }
  expect(await answer('/health')).toEqual({
    status: 200,
    body: { status: 'ok', version: limits.apiVersion, checks: { database: 'ok' } },
  })
  expect(await answer('/health/live')).toEqual({
    status: 200,
    body: { status: 'ok', version: limits.apiVersion },
  })
})

test('health fails while the database cannot be asked, and liveness does not', async () => {
  const { url, databaseUrl } = world()
  const status = async (path: string) => (await fetch(url + path)).status
  const database = new URL(databaseUrl).pathname.slice(1)
  const admin = connectOnce(inject('databaseUrl'))
  onTestFinished(() => admin.end())
  await admin.unsafe(`alter database ${database} with allow_connections false`)
  try {
    await admin`
      select pg_terminate_backend(pid)
      from pg_stat_activity
      where datname = ${database}
        and application_name = 'parley-test'`
    const refused = await fetch(`${url}/health`)
    expect([refused.status, await refused.json()]).toEqual([
      503,
      { error: { code: 'UNAVAILABLE', message: expect.stringMatching(/database/i) } },
    ])
    expect(await status('/health/live')).toBe(200)
  } finally {
    await admin.unsafe(`alter database ${database} with allow_connections true`)
  }
  expect(await status('/health')).toBe(200)
})

test('with external jobs, health and log say if no worker runs, and when one is back', async () => {
  // All workers died, and then the database's clock was set back.
  await world().db`insert into job_workers (id, seen_at) values ('dead', now() + interval '1 hour')`
  const lines: string[] = []
  const note = (level: string) => (_: object, message: string) => void lines.push(level + message)
  const node = await createWorld({
    databaseUrl: world().databaseUrl,
    jobs: {
      isElsewhere: true,
      log: { ...silentLog, warn: note('warn: '), info: note('info: ') },
      timings: { heartbeatMs: 20, workerMissingMs: 2_000 },
    },
  })
  onTestFinished(() => node.stop())
  const health = async () => {
    const response = await fetch(`${node.url}/health`)
    const { checks } = (await response.json()) as { checks: object }
    return [response.status, checks]
  }
  const becomes = (workers: string) =>
    vi.waitFor(
      async () => expect(await health()).toEqual([200, { database: 'ok', workers }]),
      patient,
    )
  await becomes('missing')
  // It counts as seen for almost four seconds: the clock was set back by less than two.
  await world().db`
    insert into job_workers (id, seen_at)
    values ('away', now() + interval '1.9 seconds')`
  await becomes('ok')
  await world().db`delete from job_workers`
  await becomes('missing')
  expect(lines).toEqual([
    'warn: staged jobs wait: no worker is running, start one with parley worker',
    'info: staged jobs resumed: a worker is running',
    'warn: staged jobs wait: no worker is running, start one with parley worker',
  ])
})

test('checks of the workers do not overlap, so no older answer undoes a newer one', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const answers: ((isAlive: boolean) => void)[] = []
  const use = () => new Promise<boolean>((resolve) => void answers.push(resolve))
  const db = { use } as unknown as Db // all that is used of it
  const { state, start } = watchWorkers({ db, timings: { heartbeatMs: 10, workerMissingMs: 0 } })
  const stop = start(silentLog)
  await vi.advanceTimersByTimeAsync(100)
  expect(answers).toHaveLength(1)
  answers[0]?.(false)
  await vi.advanceTimersByTimeAsync(100)
  expect([state(), answers.length]).toEqual(['missing', 2])
  answers[1]?.(true)
  await stop()
  expect(state()).toBe('ok')
})

/** Watches for workers by clocks that a test sets. One has just said that it lives. */
async function watchLiveWorker() {
  const { db, pool } = world()
  await db`insert into job_workers (id, seen_at) values ('live', now())`
  let looks = 0
  let isOut = false
  const use: Db['use'] = (...given) => {
    looks += 1
    return isOut ? Promise.reject(new Error('no database')) : pool.use(...given)
  }
  const clock = stopClock()
  const timings = { heartbeatMs: 50, workerMissingMs: 60_000 }
  const { state, start } = watchWorkers({ db: { ...pool, use }, timings })
  onTestFinished(start(silentLog))
  onTestFinished(() => db`delete from job_workers`.then())
  const looked = () => {
    const end = looks + 2
    return until(() => looks > end)
  }
  const age = () => db`update job_workers set seen_at = now() - interval '1 hour'`
  const cut = (isCut: boolean) => {
    isOut = isCut
  }
  return { clock, state, looked, age, cut }
}

test('a worker is not missing right after the clock of the database was set forward', async () => {
  const { clock, state, looked, age } = await watchLiveWorker()
  clock.putForward(61_000)
  await looked()
  // The clock of the database was set forward.
  await age()
  await looked()
  expect(state()).toBe('ok')
  clock.putForward(62_000)
  await until(() => state() === 'missing')
})

test('a worker is not missing right after an outage of the database', async () => {
  const { clock, state, looked, age, cut } = await watchLiveWorker()
  clock.putForward(61_000)
  await looked()
  cut(true)
  // The look that was under way has ended.
  await looked()
  await age()
  clock.putForward(120_000)
  await looked()
  cut(false)
  await looked()
  expect(state()).toBe('ok')
  clock.putForward(121_000)
  await until(() => state() === 'missing')
})
