import { EventEmitter } from 'node:events'
import type { Db } from '@parley/server/db/client'
import { timings } from '@parley/server/jobs/timings'
import { watchFetching } from '@parley/server/jobs/watch-fetching'
import { expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from './support/jobs.ts'

const CONCURRENCY = 4

/** A watched queue of four workers. Time passes by `pass`; `database` may be away. */
function openQueue() {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const events = new EventEmitter()
  const database = { answers: true }
  const use = async () => {
    if (!database.answers) throw new Error('away')
  }
  const db = { use } as unknown as Db // it only asks whether it answers
  const options = { db, timings, log: silentLog, concurrency: CONCURRENCY }
  const { isStalled, stop } = watchFetching(events, options)
  onTestFinished(stop)
  return {
    database,
    isStalled,
    emit: (name: string, times = 1) => {
      for (let time = 0; time < times; time += 1) events.emit(name)
    },
    pass: (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds),
  }
}

test('a queue that fetches nothing is stalled although one of its jobs goes on', async () => {
  const { isStalled, emit, pass } = openQueue()
  emit('job:start', CONCURRENCY - 1)
  for (let second = 0; second < 60; second += 1) {
    emit('localQueue:getJobs:complete')
    await pass(1_000)
  }
  expect(isStalled()).toBe(false)
  await pass(1.5 * timings.stalledMs)
  expect(isStalled()).toBe(true)
})

test('a queue that fetches nothing while its database is silent is not stalled', async () => {
  const { database, isStalled, pass } = openQueue()
  database.answers = false
  await pass(10 * timings.stalledMs)
  expect(isStalled()).toBe(false)
  database.answers = true
  await pass(timings.stalledMs)
  expect(isStalled()).toBe(true)
})

test('a queue whose workers are all at work does not fetch, and is not stalled', async () => {
  const { isStalled, emit, pass } = openQueue()
  emit('job:start', CONCURRENCY)
  await pass(10 * timings.stalledMs)
  expect(isStalled()).toBe(false)
  emit('job:complete')
  await pass(1.5 * timings.stalledMs)
  expect(isStalled()).toBe(true)
})
