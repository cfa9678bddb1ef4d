import { ApiError } from '@parley/server/core/errors'
import { MAX_ATTEMPTS } from '@parley/server/core/jobs'
import { createMetrics } from '@parley/server/core/metrics'
import { createRounds } from '@parley/server/jobs/rounds'
import { runJob } from '@parley/server/jobs/run-job'
import { type Handlers, type JobBatch, RetryLaterError } from '@parley/server/jobs/tasks'
import { timings } from '@parley/server/jobs/timings'
import { expect, test } from 'vitest'
import { type JobHelpers, recordAddedJobs } from './support/added-jobs.ts'

const job = (messageId: string) => ({ appId: 'app', messageId })
const batch = {
  jobs: [job('1')],
  since: new Date().toISOString(),
  tries: 0,
} as JobBatch<'push-message'>

/** Runs a batch; answers the jobs that this adds to the queue, and what is logged and counted. */
async function run(
  handler: Handlers['push-message'],
  { deaths = 0, ...given }: Partial<typeof batch> & { deaths?: number } = {},
) {
  const { added, query } = recordAddedJobs()
  const logged: string[] = []
  const metrics = createMetrics()
  const rounds = createRounds()
  const helpers = {
    abortSignal: new AbortController().signal,
    getQueueName: async () => 'subscribers-3',
    query,
    job: { locked_at: new Date(), priority: 7, max_attempts: MAX_ATTEMPTS + deaths },
  } as unknown as JobHelpers // what a run uses of it
  const add = (_: object, message: string) => void logged.push(message)
  await runJob('push-message', {
    handler,
    batch: { ...batch, ...given },
    helpers,
    rounds,
    timings,
    metrics,
    log: { debug: add, info: add, warn: add, error: add },
  })
  const counted = await metrics.registry.getSingleMetricAsString('parley_jobs_total')
  return { added, logged, counted, rounds }
}
const putOff = (seconds: number) => async () => {
  throw new RetryLaterError('push-message', [job('1')], seconds, new Error('busy'))
}

test('a job that is put off keeps its round, and further pages take the next ones', async () => {
  expect((await run(putOff(0))).added.map(({ round }) => round)).toEqual([7])
  const { added, rounds } = await run(async (jobs, { continueWith }) => void continueWith(jobs))
  expect(added.map(({ round }) => round)).toEqual([7])
  expect(rounds.ahead()).toEqual([{ task: 'push-message', appId: 'app', round: 8 }])
})

test('pauses double with each retry, up to ten minutes, with up to a quarter more', async () => {
  for (const [tries, seconds] of [
    [0, 1],
    [1, 2],
    [3, 8],
    [9, 512],
    [30, 600],
  ] as const) {
    const { added } = await run(putOff(0), { tries })
    expect(added[0]?.pauseMs).toBeGreaterThanOrEqual(1_000 * seconds)
    expect(added[0]?.pauseMs).toBeLessThanOrEqual(1_250 * seconds)
    expect(added[0]?.batch.tries).toBe(tries + 1)
  }
})

test('a job put off keeps its age, its queue and the pause the provider asks for', async () => {
  const since = new Date(Date.now() - 60_000).toISOString()
  const { added, logged, counted } = await run(putOff(300), { since })
  expect(added).toMatchObject([
    {
      batch: { since, tries: 1 },
      pauseMs: 300_000,
      queueName: 'subscribers-3',
      maxAttempts: 5,
    },
  ])
  expect(logged).toEqual(['job put off'])
  expect(counted).toContain('outcome="put_off"} 1')
})

test('the next page is added once this one is done, or waits as long as this one', async () => {
  const page = [job('2'), job('3')]
  const done = await run(async (_, { continueWith }) => continueWith(page))
  expect(done.added).toMatchObject([{ batch: { jobs: page, tries: 0 } }])
  const { added } = await run(async (_, { continueWith }) => {
    continueWith(page)
    await putOff(100)()
  })
  expect(added.map(({ batch }) => batch.jobs)).toEqual([[job('1')], page])
  expect(added.map(({ pauseMs }) => pauseMs)).toEqual([100_000, 100_000])
})

test('a failed batch is split; a single job fails, unless what it is about is gone', async () => {
  const fail = async () => Promise.reject(new Error('a bug'))
  const { added } = await run(fail, { jobs: [job('1'), job('2')] })
  expect(added.map(({ batch }) => batch.jobs)).toEqual([[job('1')], [job('2')]])
  await expect(run(fail)).rejects.toThrow('a bug')
  const gone = await run(async () => Promise.reject(new ApiError('NOT_FOUND', 'gone')))
  expect(gone.added).toEqual([])
})

test('jobs of a batch are run one by one once it may have killed two workers', async () => {
  const seen: string[][] = []
  const note: Handlers['push-message'] = async (jobs) =>
    void seen.push(jobs.map(({ messageId }) => messageId))
  const jobs: (typeof batch)['jobs'] = [job('1'), job('2')]
  expect((await run(note, { jobs, deaths: 1 })).added).toEqual([])
  const { added } = await run(note, { jobs, deaths: 2 })
  expect(added.map(({ batch }) => batch.jobs)).toEqual([[job('1')], [job('2')]])
  await run(note, { deaths: 3 })
  expect(seen).toEqual([['1', '2'], ['1']])
})

test('a job that is too old is counted as given up, and not run', async () => {
  let runs = 0
  const count = async () => {
    runs += 1
  }
  const ago = (seconds: number) => new Date(Date.now() - 1_000 * seconds).toISOString()
  await run(count, { since: ago(6 * 3_600 - 10) })
  expect(runs).toBe(1)
  const { logged, counted } = await run(count, { since: ago(6 * 3_600 + 1) })
  expect(runs).toBe(1)
  expect(logged).toEqual(['job given up: too old'])
  expect(counted).toContain('{task="push-message",outcome="given_up"} 1')
})
