import { createMetrics } from '@parley/server/core/metrics'
import { createListenerWatch } from '@parley/server/realtime/broker/listener-watch'
import { expect, onTestFinished, test, vi } from 'vitest'

test('a listener that receives nothing is down, and its lag grows until a note arrives', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const watch = createListenerWatch(12_000)
  expect(watch.isUp()).toBe(false)
  watch.sent()
  vi.advanceTimersByTime(40)
  watch.received(true)
  vi.advanceTimersByTime(5_000)
  expect([watch.isUp(), watch.lagSeconds()]).toEqual([true, 0.04])
  watch.sent()
  vi.advanceTimersByTime(7_001)
  watch.sent()
  expect([watch.isUp(), watch.lagSeconds()]).toEqual([false, 7.001])
  watch.received(false)
  expect([watch.isUp(), watch.lagSeconds()]).toEqual([true, 7.001])
  watch.received(true)
  vi.advanceTimersByTime(100)
  watch.received(true)
  expect(watch.lagSeconds()).toBe(0.1)
  watch.sent()
  vi.advanceTimersByTime(9_000)
  watch.restarted()
  expect(watch.lagSeconds()).toBe(0.1)
})

test('a beat that could not be sent is not waited for', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const watch = createListenerWatch(12_000)
  for (const isLost of [false, true, false]) {
    const fail = watch.sent()
    vi.advanceTimersByTime(40)
    if (isLost) fail()
    else watch.received(true)
    vi.advanceTimersByTime(4_960)
  }
  expect(watch.lagSeconds()).toBe(0.04)
})

test('the ten apps with the most calls are shown, by the last full minute', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { registry, countAppCall: count, countAppRateLimited } = createMetrics()
  for (let app = 1; app <= 12; app++) {
    for (let call = 0; call < app; call++) count(`app-${app}`)
  }
  countAppRateLimited('app-7')
  const seriesOf = async (pattern: RegExp) => (await registry.metrics()).match(pattern) ?? []
  const series = () => seriesOf(/(?<=^parley_top_app_calls)\{.*$/gm)
  expect(await series()).toEqual([])
  vi.advanceTimersByTime(60_000)
  count('app-1')
  const top = await series()
  expect(top).toHaveLength(10)
  expect(top[0]).toBe('{app="app-12"} 12')
  expect(top[9]).toBe('{app="app-3"} 3')
  expect(await seriesOf(/^parley_top_app_rate_limited\{.*$/gm)).toEqual([
    'parley_top_app_rate_limited{app="app-7"} 1',
  ])
  vi.advanceTimersByTime(60_000)
  expect(await series()).toEqual(['{app="app-1"} 1'])
  vi.advanceTimersByTime(60_000)
  expect(await series()).toEqual([])
  // Only the first 10,000 apps of a minute are counted, and these go on to be counted.
  for (let app = 1; app <= 10_001; app++) count(`many-${app}`)
  for (const app of ['many-1', 'many-10001']) count(app)
  vi.advanceTimersByTime(60_000)
  expect((await series())[0]).toBe('{app="many-1"} 2')
})
