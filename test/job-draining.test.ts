import { createJobStaging } from '@parley/server/core/jobs'
import type { Db } from '@parley/server/db/client'
import { startDraining } from '@parley/server/jobs/drain'
import { timings } from '@parley/server/jobs/timings'
import { expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from './support/jobs.ts'

const HOUR = 3_600_000
const pass = () => vi.advanceTimersByTimeAsync(0)

/** Drains of which each ends when the function is called that it was counted with. */
function openDraining() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const drains: ((moved: number) => void)[] = []
  const use = () =>
    new Promise((resolve) => drains.push((moved) => resolve({ moved, unclaimed: [] })))
  const staging = createJobStaging(['preview'])
  const stop = startDraining({
    db: { use } as unknown as Db, // all that it uses
    tasks: ['preview'],
    staging,
    timings: { ...timings, gatherMs: 10, pollMs: HOUR },
    log: silentLog,
  })
  return { drains, staging, stop }
}

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
