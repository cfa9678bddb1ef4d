import { EventEmitter } from 'node:events'
import type { Db } from '@parley/server/db/client'
import { timings } from '@parley/server/jobs/timings'
import { watchFetching } from '@parley/server/jobs/watch-fetching'
import { expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from './support/jobs.ts'

const STALLED_MS = 1_000

/** Watches a runner whose events a test emits; `database` decides whether the database answers. */
function watch() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const events = new EventEmitter()
  const database = { answers: true }
  const use = async () => {
    if (!database.answers) throw new Error('away')
  }
  const watched = watchFetching(events, {
    db: { use } as unknown as Db, // all that is used of it
    timings: { ...timings, stalledMs: STALLED_MS },
    log: silentLog,
  })
  onTestFinished(watched.stop)
  const isStalledAfter = async (milliseconds: number) => {
    await vi.advanceTimersByTimeAsync(milliseconds)
    return watched.isStalled()
  }
  return { events, database, isStalledAfter }
}

test('a queue that fetches nothing has stalled, unless the database answers nobody', async () => {
  const { database, isStalledAfter } = watch()
  database.answers = false
  expect(await isStalledAfter(10 * STALLED_MS)).toBe(false)
  database.answers = true
  expect(await isStalledAfter(STALLED_MS)).toBe(true)
})

test('a queue that fetches, or is busy with a job for long, has not stalled', async () => {
  const { events, isStalledAfter } = watch()
  for (let fetched = 0; fetched < 5; fetched++) {
    expect(await isStalledAfter(STALLED_MS / 2)).toBe(false)
    events.emit('worker:getJob:empty')
  }
  events.emit('job:start')
  expect(await isStalledAfter(10 * STALLED_MS)).toBe(false)
  events.emit('job:complete')
  expect(await isStalledAfter(STALLED_MS / 2)).toBe(false)
  expect(await isStalledAfter(STALLED_MS)).toBe(true)
})
