import { createEventBus } from '@parley/server/core/event-bus'
import { createMetrics } from '@parley/server/core/metrics'
import type { Db } from '@parley/server/db/client'
import { createBatchSize } from '@parley/server/jobs/batch-size'
import { createCleanup } from '@parley/server/jobs/cleanup'
import { createPass } from '@parley/server/jobs/cleanup-pass'
import { createCleanupTasks } from '@parley/server/jobs/cleanup-tasks'
import { createErasurePositions } from '@parley/server/jobs/erasure-context'
import { expect, onTestFinished, test, vi } from 'vitest'

type Options = Parameters<typeof createPass>[0]
type Run = Options['tasks'][number]['run']

/** Runs a pass of these tasks, which need no connection; answers what it reported, and counted. */
async function runPass(runs: Run[]) {
  const reports: string[] = []
  const metrics = createMetrics()
  const pass = createPass({
    tasks: runs.map((run, index) => ({
      name: `${index + 1}`,
      most: 1,
      batch: createBatchSize(1),
      run: async (context) => {
        reports.push(`task ${index + 1}`)
        await run(context)
      },
    })),
    stopping: new AbortController().signal,
    metrics,
    onError: (_, task) => reports.push(`${task} has failed`),
    onTurnOver: () => reports.push('wants another pass'),
  })
  const { signal } = new AbortController()
  const connection = {} as Parameters<typeof pass>[0] // no task uses it
  await pass(connection, { signal, throwIfAborted: () => {} })
  const { values } = await metrics.cleanupFailures.get()
  const failures = values.filter(({ value }) => value > 0)
  return { reports, failures: failures.map(({ labels, value }) => [labels.task, value]) }
}

test('a task with more to do than it has time for goes on at once in another pass', async () => {
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  const endless: Run = async ({ checkpoint }) => {
    for (;;) {
      checkpoint()
      now += 1_000
    }
  }
  const failing: Run = () => Promise.reject(new Error('a bug'))
  const { reports, failures } = await runPass([endless, failing, async () => {}])
  expect(reports).toEqual(['task 1', 'wants another pass', 'task 2', '2 has failed', 'task 3'])
  // Running out of time is no failure.
  expect(failures).toEqual([['2', 1]])
})

test('an hourly task that was cut short is due at once', async () => {
  const tasks = createCleanupTasks({
    ...{ publisher: createEventBus().publisher, positions: createErasurePositions() },
    ...{ purgeEmptyAfterDays: 0, auditRetentionDays: 0, staging: undefined },
  })
  const task = tasks.find(({ name }) => name === 'active_users') ?? expect.unreachable()
  let runs = 0
  const checkpoint = () => {
    runs += 1
    throw new Error('the turn is over')
  }
  const context = { checkpoint, batch: task.batch } as unknown as Parameters<typeof task.run>[0]
  for (const _ of ['first', 'second'])
    await expect(task.run(context)).rejects.toThrow('the turn is over')
  expect(runs).toBe(2)
})

test('one timer tries again, however often the cleanup finds another node at work', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const lockOfAnother = async () => [{ isOurs: false }]
  const use = (work: (db: unknown) => unknown) => work(lockOfAnother)
  const { run, stop } = createCleanup({
    db: { use } as unknown as Db, // it does not get further than the lock
    publisher: createEventBus().publisher,
    metrics: createMetrics(),
    onError: (error) => expect.fail(String(error)),
  })
  for (const _ of [1, 2, 3]) await run()
  expect(vi.getTimerCount()).toBe(1)
  await stop()
  expect(vi.getTimerCount()).toBe(0)
})
