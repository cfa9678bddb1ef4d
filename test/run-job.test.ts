import { once } from 'node:events'
import { createMetrics } from '@parley/server/core/metrics'
import { DeadlineError } from '@parley/server/db/client'
import { createRounds } from '@parley/server/jobs/rounds'
import { runJob } from '@parley/server/jobs/run-job'
import { RetryLaterError } from '@parley/server/jobs/tasks'
import { timings } from '@parley/server/jobs/timings'
import { expect, test } from 'vitest'
import { type JobHelpers, recordAddedJobs } from './support/added-jobs.ts'
import { silentLog } from './support/jobs.ts'

/** Unit tests of the outcome of one job of the queue, whatever the clock of this machine says. */

const SINCE = '2001-02-03T04:05:06.000Z'
const jobs = [
  { appId: 'app', messageId: '1' },
  { appId: 'app', messageId: '2' },
] as const

type Push = (typeof jobs)[number]
type Options = {
  ageSeconds?: number
  maxAttempts?: number
  signal?: AbortSignal
  storeFailures?: number
  storeFailure?: Error
  jobMs?: number
  batch?: readonly [Push, ...Push[]]
  work?: (context: { takenAt: Date; signal: AbortSignal }) => Promise<void>
}

/** Runs a batch of two that was taken `ageSeconds` after it was staged, by the database's clock. */
async function runBatch({
  ageSeconds = 10,
  maxAttempts = 5,
  signal = new AbortController().signal,
  storeFailures = 0,
  storeFailure = new Error('no room'),
  jobMs = timings.jobMs,
  batch = jobs,
  work = async () => {},
}: Options) {
  const { added, query } = recordAddedJobs({ failures: storeFailures, failure: storeFailure })
  let runs = 0
  const helpers = {
    job: {
      locked_at: new Date(Date.parse(SINCE) + 1000 * ageSeconds),
      priority: 7,
      max_attempts: maxAttempts,
    },
    abortSignal: signal,
    getQueueName: async () => null,
    query,
  } as unknown as JobHelpers // what a job uses of it
  await runJob('push-message', {
    handler: (_, context) => {
      runs += 1
      return work(context)
    },
    batch: { jobs: [...batch], since: SINCE, tries: 3 },
    helpers,
    rounds: createRounds(),
    timings: { ...timings, backOffMs: 1, jobMs, graceMs: 10 },
    metrics: createMetrics(),
    log: silentLog,
  })
  return { added, runs }
}

test('the age of a job is the one in the database, whatever the clock of the worker', async () => {
  expect(await runBatch({ ageSeconds: 6 * 3_600 - 1 })).toEqual({ added: [], runs: 1 })
  expect(await runBatch({ ageSeconds: 6 * 3_600 + 1 })).toEqual({ added: [], runs: 0 })
})

test('quiet hours follow the clock of the database, not that of the worker', async () => {
  const seen: Date[] = []
  await runBatch({ ageSeconds: 60, work: async ({ takenAt }) => void seen.push(takenAt) })
  expect(seen).toEqual([new Date('2001-02-03T04:06:06.000Z')])
})

test('a job that met an unavailable database is put off and has used no attempt', async () => {
  const work = () => Promise.reject(new DeadlineError())
  const startedAt = performance.now()
  const { added } = await runBatch({ work, storeFailures: 7 })
  // Each pause between two tries to store it is twice as long as the one before, of 2 to 128 ms.
  expect(performance.now() - startedAt).toBeGreaterThan(240)
  expect(added).toMatchObject([{ task: 'push-message', batch: { jobs, since: SINCE, tries: 4 } }])
  expect(added[0]?.pauseMs).toBeGreaterThanOrEqual(8)
  expect(added[0]?.pauseMs).toBeLessThanOrEqual(10)
})

test.each([
  ['Connection terminated unexpectedly', undefined, 'not stored'],
  ['Query read timeout', undefined, 'not stored'],
  ['the database system is shutting down', '57P01', 'not stored'],
  ['null value in column', '23502', 'null value in column'],
])(
  'a job whose retry cannot be stored because of "%s" (%s) fails by: %s',
  async (message, code, reason) => {
    const storeFailure = Object.assign(new Error(message), { code })
    const work = () => Promise.reject(new DeadlineError())
    await expect(runBatch({ work, storeFailures: 8, storeFailure })).rejects.toThrow(reason)
  },
)

test('a job that the end of its process interrupts returns to the queue', async () => {
  const signal = AbortSignal.abort()
  const { added } = await runBatch({ signal, work: () => Promise.reject(signal.reason) })
  expect(added).toMatchObject([{ batch: { jobs, tries: 3 }, pauseMs: 0 }])
})

const never = () => new Promise<never>(() => {})

/** The jobs of a batch that was split, each with the age of the batch. */
const alone = jobs.map((job) => ({ batch: { jobs: [job], since: SINCE, tries: 3 } }))

test('a batch that hangs is split after its time, and a job that hangs fails', async () => {
  const { added } = await runBatch({ jobMs: 10, work: never })
  expect(added).toMatchObject(alone)
  const single = runBatch({ jobMs: 10, work: never, batch: [jobs[0]] })
  await expect(single).rejects.toThrow('not done in time')
})

test('a job whose time is over ends by its signal, and what is left of it is put off', async () => {
  const work = async ({ signal }: { signal: AbortSignal }) => {
    await once(signal, 'abort')
    throw new RetryLaterError('push-message', [jobs[1]], 0, new Error('no time'))
  }
  const { added } = await runBatch({ jobMs: 10, work })
  expect(added).toMatchObject([{ batch: { jobs: [jobs[1]], tries: 4, reason: 'no time' } }])
})

test('a job that hangs as its process ends returns to the queue', async () => {
  const end = new AbortController()
  const work = () => {
    end.abort()
    return never()
  }
  const { added } = await runBatch({ signal: end.signal, work })
  expect(added).toMatchObject([{ batch: { jobs, tries: 3 }, pauseMs: 0 }])
})

test('a batch is split into single jobs after two deaths of its workers, not one', async () => {
  expect(await runBatch({ maxAttempts: 6 })).toEqual({ added: [], runs: 1 })
  const { added, runs } = await runBatch({ maxAttempts: 7 })
  expect(runs).toBe(0)
  expect(added).toMatchObject(alone)
})
