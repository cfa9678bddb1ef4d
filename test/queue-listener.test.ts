import type { Socket } from 'node:net'
import { createMetrics } from '@parley/server/core/metrics'
import { createDb } from '@parley/server/db/client'
import { openQueue } from '@parley/server/jobs/queue'
import { createQueuePool, socketOf } from '@parley/server/jobs/queue-pool'
import { timings } from '@parley/server/jobs/timings'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabaseProxy } from './support/database-proxy.ts'
import { watchForDeath } from './support/deaths.ts'
import { silentLog } from './support/jobs.ts'
import { until } from './support/until.ts'
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
    // The answer has not arrived yet: the queue waits for it from now on.
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

test('a stop while the job queue begins to listen on a lost line ends no process', async () => {
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

test('the job queue is closed when its connections are, also silent ones', async () => {
  const proxy = await openDatabaseProxy(world().databaseUrl)
  onTestFinished(proxy.stop)
  for (const isSilent of [false, true]) {
    const lost: Error[] = []
    const sockets: Socket[] = []
    const { pgPool, close } = createQueuePool(proxy.url, {
      onConnectionLost: (error) => void lost.push(error),
    })
    pgPool.on('connect', (client) => sockets.push(socketOf(client)))
    await Promise.all([pgPool.query('select pg_sleep(0.1)'), pgPool.query('select pg_sleep(0.1)')])
    if (isSilent) proxy.silence()
    await close()
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, true])
    expect(lost).toEqual([])
  }
})

test('a job that ends in an outage adds no line to the log above debug', async () => {
  const proxy = await openDatabaseProxy(world().databaseUrl)
  const db = createDb({ url: proxy.url, poolSize: 1, applicationName: 'outage' })
  const [said, debugged] = [[] as string[], [] as string[]]
  const say = (_: object, message: string) => void said.push(message)
  const restarts: number[] = []
  const debug = (_: object, message: string) => {
    debugged.push(message)
    if (message === 'job queue unavailable, will restart') restarts.push(performance.now())
  }
  const log = { info: say, warn: say, error: say, debug }
  const queue = await openQueue({
    ...{ databaseUrl: proxy.url, db, metrics: createMetrics(), log },
    timings: { ...timings, pollMs: 50 },
  })
  let end: (() => void) | undefined
  const wait = () => new Promise<void>((resolve) => (end = resolve))
  const stop = queue.runTasks({ concurrency: 1, taskList: { wait } })
  onTestFinished(async () => {
    proxy.comeBack()
    await stop()
    await queue.close()
    await db.end({ timeout: 1 })
    await proxy.stop()
  })
  await world().db`select graphile_worker.add_job('wait')`
  await until(() => end !== undefined)
  proxy.goDown()
  end?.()
  await until(() => restarts.length === 2)
  const [first = 0, second = 0] = restarts
  expect(second - first).toBeGreaterThan(990)
  expect(debugged.some((line) => line.startsWith('Failed to complete jobs'))).toBe(true)
  expect(said).toEqual([])
})

test('a lost connection of the job queue is reported once, without the whole client', async () => {
  const proxy = await openDatabaseProxy(world().databaseUrl)
  onTestFinished(proxy.stop)
  const hasClient: boolean[] = []
  const { pgPool, close } = createQueuePool(proxy.url, {
    onConnectionLost: (error) => void hasClient.push('client' in error),
  })
  await pgPool.query('select')
  proxy.closeAll()
  await until(() => pgPool.totalCount === 0)
  await close()
  expect(hasClient).toEqual([false])
})
