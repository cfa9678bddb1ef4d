import type { EventEmitter } from 'node:events'
import type { Log } from '../core/log.ts'
import type { Db } from '../db/client.ts'
import type { Timings } from './timings.ts'

/** Events that graphile-worker emits when the database has answered it. */
const ANSWERS = ['localQueue:getJobs:complete', 'worker:getJob:empty', 'job:start', 'job:complete']

type WatchFetchingOptions = {
  db: Db
  timings: Timings
  log: Log
  /** How many jobs the runner runs at once: while it does, it does not fetch. */
  concurrency: number
}

/**
 * Watches the events of a runner. It has stalled when some of its workers are idle and it has not
 * fetched for `stalledMs`, although the database answers others: its connections may be dead, which
 * TCP alone notices after a quarter of an hour. Each job has an end of its own.
 */
export function watchFetching(
  events: EventEmitter,
  { db, timings, log, concurrency }: WatchFetchingOptions,
) {
  let answeredAt = performance.now()
  let running = 0
  let isStalled = false
  for (const event of ANSWERS) events.on(event, () => (answeredAt = performance.now()))
  events.on('job:start', () => (running += 1))
  events.on('job:complete', () => (running -= 1))

  const isSilent = () => running < concurrency && performance.now() - answeredAt > timings.stalledMs
  let timer: NodeJS.Timeout | undefined
  const promise = new Promise<void>((resolve) => {
    const check = async () => {
      if (!isSilent() || !(await answers(db)) || !isSilent()) return
      isStalled = true
      log.warn({ silentMs: timings.stalledMs }, 'job queue stalled, will restart')
      resolve()
    }
    timer = setInterval(check, timings.stalledMs / 5)
  })
  return { promise, isStalled: () => isStalled, stop: () => clearInterval(timer) }
}

export const answers = (db: Db) =>
  db
    .use((db) => db`select`)
    .then(
      () => true,
      () => false,
    )
