import { ApiError } from '@parley/server/core/errors'
import { MAX_ATTEMPTS } from '@parley/server/core/jobs'
import { createMetrics } from '@parley/server/core/metrics'
import { runJob } from '@parley/server/jobs/run-job'
import { type Batch, type Handlers, RetryLaterError } from '@parley/server/jobs/tasks'
import { timings } from '@parley/server/jobs/timings'
import { expect, test } from 'vitest'

const job = (messageId: string) => ({ appId: 'app', messageId })
const batch = {
  jobs: [job('1')],
  since: new Date().toISOString(),
  tries: 0,
} as Batch<'push-message'>
type JobHelpers = Parameters<typeof runJob>[1]['helpers']
type TaskSpec = NonNullable<Parameters<JobHelpers['addJob']>[2]>
type Added = { task: string; batch: Batch; spec: TaskSpec }

/** Runs a batch; answers the jobs that this adds to the queue, and what is logged and counted. */
async function run(handler: Handlers['push-message'], given: Partial<typeof batch> = {}) {
  const added: Added[] = []
  const logged: string[] = []
  const metrics = createMetrics()
  const began = Date.now()
  const helpers = {
    abortSignal: new AbortController().signal,
    getQueueName: async () => 'subscribers-3',
    query: async () => ({ rows: [] }),
    job: { locked_at: new Date(began), max_attempts: MAX_ATTEMPTS },
    addJob: async (task: string, batch: Batch, spec: TaskSpec) =>
      void added.push({ task, batch, spec }),
  } as unknown as JobHelpers // what a run uses of it
  const add = (_: object, message: string) => void logged.push(message)
  await runJob('push-message', {
    handler,
    batch: { ...batch, ...given },
    helpers,
    timings,
    metrics,
    log: { debug: add, info: add, warn: add, error: add },
  })
  const counted = await metrics.registry.getSingleMetricAsString('parley_jobs_total')
  return { added, logged, counted, began, ended: Date.now() }
}
const putOff = (seconds: number) => async () => {
  throw new RetryLaterError('push-message', [job('1')], seconds, new Error('busy'))
}
type Run = Pick<Awaited<ReturnType<typeof run>>, 'added' | 'began' | 'ended'>
/** Expects a pause of that many milliseconds. It began at some time during the run. */
function expectPause({ added: [first], began, ended }: Run, [least, most]: [number, number]) {
  const runAt = Number(first?.spec.runAt)
  expect(runAt).toBeGreaterThanOrEqual(began + least)
  // Dates have whole milliseconds.
  expect(runAt).toBeLessThanOrEqual(ended + most + 1)
}

test('pauses double with each retry, up to ten minutes, with up to a quarter more', async () => {
  for (const [tries, seconds] of [
    [0, 1],
    [1, 2],
    [3, 8],
    [9, 512],
    [30, 600],
  ] as const) {
    const done = await run(putOff(0), { tries })
    expectPause(done, [1_000 * seconds, 1_250 * seconds])
    expect(done.added[0]?.batch.tries).toBe(tries + 1)
  }
})

test('the pause that the provider asks for is kept, and the age and queue of the job', async () => {
  const since = new Date(Date.now() - 60_000).toISOString()
  const done = await run(putOff(300), { since })
  expectPause(done, [300_000, 300_000])
  expect(done.added).toMatchObject([
    { batch: { since, tries: 1 }, spec: { queueName: 'subscribers-3', maxAttempts: 5 } },
  ])
  expect(done.logged).toEqual(['job put off'])
  expect(done.counted).toContain('outcome="put_off"} 1')
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
  expect(added[1]?.spec.runAt).toEqual(added[0]?.spec.runAt)
})

test('a batch that fails is split, a single job fails, and one that is gone is done', async () => {
  const fail = async () => Promise.reject(new Error('a bug'))
  const { added } = await run(fail, { jobs: [job('1'), job('2')] })
  expect(added.map(({ batch }) => batch.jobs)).toEqual([[job('1')], [job('2')]])
  await expect(run(fail)).rejects.toThrow('a bug')
  const gone = await run(async () => Promise.reject(new ApiError('NOT_FOUND', 'gone')))
  expect(gone.added).toEqual([])
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
