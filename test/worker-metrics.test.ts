import { createServer } from 'node:http'
import { createMetricsSum } from '@parley/server/commands/worker-metrics'
import { followFirstProcess } from '@parley/server/commands/worker-process'
import { observeEventLoop } from '@parley/server/core/event-loop-metrics'
import { createMetrics } from '@parley/server/core/metrics'
import { expect, onTestFinished, test } from 'vitest'
import { sample } from './support/scrape.ts'

const labels = { operation: 'messages.send', outcome: 'ok' }

/** The metrics of a worker process that has made this many calls. */
function worker(id: number) {
  const { registry, events, operations, importsRunning } = createMetrics()
  importsRunning.set(1)
  let isDead = false
  const process = { id, isDead: () => isDead }
  return {
    work: (count: number) => {
      events.inc(count)
      for (let call = 0; call < count; call++) operations.observe(labels, 0.5)
    },
    end: () => {
      isDead = true
    },
    answers: async () => ({ worker: process, metrics: await registry.getMetricsAsJSON() }),
    isBusy: async () => ({ worker: process, metrics: undefined }),
  }
}

test('counters of worker processes never fall, whether one is busy or ends', async () => {
  const sum = createMetricsSum()
  const [one, two, three] = [worker(1), worker(2), worker(3)]
  const read = async (...shown: ReturnType<typeof one.isBusy | typeof one.answers>[]) => {
    const text = await (await sum(await Promise.all(shown))).metrics()
    return [
      sample(text, 'parley_events_total'),
      sample(text, 'parley_operation_seconds_count{operation="messages.send",outcome="ok"}'),
      sample(
        text,
        'parley_operation_seconds_bucket{le="1",operation="messages.send",outcome="ok"}',
      ),
      sample(text, 'parley_imports_running'),
    ]
  }
  one.work(5)
  two.work(7)
  expect(await read(one.answers(), two.answers())).toEqual([12, 12, 12, 2])
  one.work(1)
  expect(await read(one.answers(), two.isBusy())).toEqual([13, 13, 13, 1])
  // It hands over to a successor, and may yet take its place back.
  three.work(2)
  expect(await read(one.answers(), three.answers())).toEqual([15, 15, 15, 2])
  expect(await read(one.answers(), two.answers())).toEqual([15, 15, 15, 2])
  two.end()
  expect(await read(one.answers(), three.answers())).toEqual([15, 15, 15, 2])
  three.end()
  one.work(1)
  expect(await read(one.answers())).toEqual([16, 16, 16, 1])
  expect(await read(one.isBusy())).toEqual([16, 16, 16, 0])
})

test('the event loop delay is that of the slowest worker process, not a sum', async () => {
  const { registry } = createMetrics()
  onTestFinished(observeEventLoop(registry))
  const name = 'parley_event_loop_delay_seconds'
  const shown = async (id: number, value: number) => ({
    worker: { id, isDead: () => false },
    metrics: (await registry.getMetricsAsJSON())
      .filter((metric) => metric.name === name)
      .map((metric) => ({ ...metric, values: [{ value, labels: { percentile: '99' } }] })),
  })
  const both = await Promise.all([shown(1, 0.2), shown(2, 0.3)])
  const text = await (await createMetricsSum()(both)).metrics()
  expect(sample(text, `${name}{percentile="99"}`)).toBe(0.3)
})

test.each([
  [0, 2_000],
  [5_000, 5_000],
])('with a shutdown delay of %i ms a replaced process serves for %i ms more', async (delay, ms) => {
  const before = process.listeners('message')
  let goesOn: (() => Promise<void>) | undefined
  const given: number[] = []
  const setup = { config: { metricsPort: undefined, poolSize: 1, shutdownDelayMs: delay } }
  const parts = {
    app: { server: createServer() },
    shutdown: { handOver: async (milliseconds: number) => void given.push(milliseconds) },
    stop: (before?: () => Promise<void>) => (goesOn = before),
  }
  followFirstProcess(
    setup as unknown as Parameters<typeof followFirstProcess>[0], // what it reads of them
    parts as unknown as Parameters<typeof followFirstProcess>[1],
  )
  const [follow] = process.listeners('message').filter((each) => !before.includes(each))
  if (!follow) throw new Error('it follows no orders')
  process.off('message', follow)
  follow({ order: 'hand over' }, undefined)
  await goesOn?.()
  expect(given).toEqual([ms])
})
