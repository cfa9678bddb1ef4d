import { createMetrics } from '@parley/server/core/metrics'
import { openQueue } from '@parley/server/jobs/queue'
import { createQueuePool } from '@parley/server/jobs/queue-pool'
import { timings } from '@parley/server/jobs/timings'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabaseProxy } from './support/database-proxy.ts'
import { watchForDeath } from './support/deaths.ts'
import { silentLog } from './support/jobs.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** Opens the queue by way of a proxy. `listening` resolves when it has sent its LISTEN. */
async function openBehindProxy() {
  const proxy = await openDatabaseProxy(world().databaseUrl)
  let isListening = () => {}
  const listening = new Promise<void>((resolve) => {
    isListening = resolve
  })
  const debug = (_: object, message = '') => {
    if (!message.startsWith('Worker connected')) return
    // Before the answer arrives: the queue waits for it from now on.
    proxy.silence()
    isListening()
  }
  const { pool: db, metrics = createMetrics() } = world()
  const queue = await openQueue({
    databaseUrl: proxy.url,
    db,
    metrics,
    timings,
    log: { ...silentLog, debug },
  })
  return { proxy, queue, listening }
}

test('a stop while the job queue begins to listen on a lost line does not end the process', async () => {
  const deaths = watchForDeath()
  const { proxy, queue, listening } = await openBehindProxy()
  onTestFinished(proxy.stop)
  const stop = queue.runTasks({ concurrency: 1, taskList: { nothing: () => {} } })
  await listening
  const stopped = stop()
  proxy.closeAll()
  await stopped
  await queue.close()
  expect(deaths).toEqual([])
})

test('the job queue is given nothing to release when it cannot connect', async () => {
  const { pgPool } = createQueuePool(world().databaseUrl, { onConnectionLost: () => {} })
  await pgPool.end()
  const given = await new Promise<unknown[]>((resolve) => pgPool.connect((...all) => resolve(all)))
  expect(given).toEqual([expect.any(Error), undefined, undefined])
})
