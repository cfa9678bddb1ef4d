import { createJobStaging } from '@parley/server/core/jobs'
import type { Db } from '@parley/server/db/client'
import { startDraining } from '@parley/server/jobs/drain'
import { createRounds } from '@parley/server/jobs/rounds'
import { scheduleCleanups } from '@parley/server/jobs/schedule-cleanups'
import { timings } from '@parley/server/jobs/timings'
import { expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from './support/jobs.ts'

const HOUR = 3_600_000
const pass = () => vi.advanceTimersByTimeAsync(0)

/** The next round of an app that has many waiting jobs, as each drain says. */
const LARGE = { task: 'preview' as const, appId: 'large', round: 70 }

/** Starts draining. Each drain ends when its function in `drains` is called. */
function openDraining() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const drains: ((outcome: number | Error) => void)[] = []
  const use = () =>
    new Promise((resolve, reject) =>
      drains.push((outcome) =>
        outcome instanceof Error
          ? reject(outcome)
          : resolve({ moved: outcome, unclaimed: [], running: [], next: [LARGE] }),
      ),
    )
  const staging = createJobStaging(['preview'])
  const rounds = createRounds()
  const stop = startDraining({
    db: { use } as unknown as Db, // all that it uses
    tasks: ['preview'],
    staging,
    rounds,
    timings: { ...timings, gatherMs: 10, pollMs: HOUR },
    log: silentLog,
  })
  return { drains, staging, rounds, stop }
}

/** An error of the database, as its client throws it. */
const databaseError = (code: string) => Object.assign(new Error('as the database says'), { code })

test.each([
  ['ECONNREFUSED', 'debug'],
  ['57014', 'warn'],
  ['55P03', 'warn'],
])('draining and cleanups that fail with %s are logged at %s', async (code, level) => {
  const lines: [string, string][] = []
  const at = (level: string) => (_: object, line: string) => void lines.push([level, line])
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  const use = () => Promise.reject(databaseError(code))
  const rounds = createRounds()
  const options = { db: { use } as unknown as Db, rounds, timings, log } // all that they use
  const stops = [
    startDraining({ ...options, tasks: ['preview'], staging: createJobStaging(['preview']) }),
    scheduleCleanups(options),
  ]
  for (const stop of stops) await stop()
  expect(lines.sort()).toEqual([
    [level, 'draining staged jobs failed, will retry'],
    [level, 'enqueueing the cleanup failed, will retry'],
  ])
})

test('a process enqueues a cleanup at its start, and then every minute', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  let enqueued = 0
  const db = { use: async () => void enqueued++ } as unknown as Db // all that it uses
  const stop = scheduleCleanups({ db, timings, log: silentLog })
  await vi.advanceTimersByTimeAsync(59_999)
  expect(enqueued).toBe(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(enqueued).toBe(2)
  await stop()
  await vi.advanceTimersByTimeAsync(HOUR)
  expect(enqueued).toBe(2)
})

test('jobs that are staged during a drain are moved right after it', async () => {
  const { drains, staging, stop } = openDraining()
  staging.wake()
  staging.wake()
  drains[0]?.(3)
  await pass()
  await vi.advanceTimersByTimeAsync(10)
  expect(drains).toHaveLength(2)
  drains[1]?.(3)
  await vi.advanceTimersByTimeAsync(HOUR - 1)
  expect(drains).toHaveLength(2)
  await vi.advanceTimersByTimeAsync(1)
  expect(drains).toHaveLength(3)
  drains[2]?.(1_000)
  await vi.advanceTimersByTimeAsync(1)
  expect(drains).toHaveLength(4)
  drains[3]?.(0)
  await stop()
  staging.wake()
  await vi.advanceTimersByTimeAsync(HOUR)
  expect(drains).toHaveLength(4)
})

test('the jobs of a drain take their turns after those of the drains before it', async () => {
  const { drains, rounds, stop } = openDraining()
  drains[0]?.(1)
  await stop()
  expect(rounds.ahead()).toEqual([LARGE])
})

test('a drain that took too long makes the next ones smaller, until one has worked', async () => {
  const { drains, stop } = openDraining()
  drains[0]?.(databaseError('57014'))
  await vi.advanceTimersByTimeAsync(HOUR)
  expect(drains).toHaveLength(2)
  // The drain moved as many jobs as it may: there may be more.
  drains[1]?.(500)
  await vi.advanceTimersByTimeAsync(1)
  expect(drains).toHaveLength(3)
  drains[2]?.(500)
  await vi.advanceTimersByTimeAsync(1)
  expect(drains).toHaveLength(3)
  await stop()
})
