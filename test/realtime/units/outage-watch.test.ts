import { patience } from '@parley/server/db/client'
import { createOutageWatch } from '@parley/server/realtime/outage-watch'
import { createSchedule } from '@parley/server/realtime/schedule'
import { timings as defaults } from '@parley/server/realtime/timings'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'

const OUTAGE_MS = 1_000

beforeEach(() => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
})
const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds)

type Given = { outageMs?: number; probe?: () => Promise<unknown> }
const unreachable = () => Promise.reject(new Error('lost'))

function openWatch({ outageMs = OUTAGE_MS, probe = unreachable }: Given = {}) {
  const onOutage = vi.fn(() => performance.now())
  const watch = createOutageWatch({ outageMs, probe, onOutage })
  watch.start()
  onTestFinished(watch.stop)
  const { observe, isOutage } = watch
  const work = () => observe(async () => {})
  const fail = () => expect(observe(unreachable)).rejects.toThrow()
  return { ...watch, onOutage, isOutage, work, fail }
}

test('failures over a time begin an outage, once; the first success ends it', async () => {
  const { onOutage, isOutage, work, fail } = openWatch()
  await fail()
  await fail()
  await pass(OUTAGE_MS - 1)
  expect(isOutage()).toBe(false)
  await pass(1)
  expect(isOutage()).toBe(true)
  await pass(OUTAGE_MS)
  await fail()
  await pass(OUTAGE_MS)
  expect(onOutage).toHaveBeenCalledOnce()
  await work()
  expect(isOutage()).toBe(false)
  // A failure from here on may begin another outage.
  await fail()
  await pass(OUTAGE_MS - 1)
  expect(isOutage()).toBe(false)
})

test('work that fails while the database answers is no outage', async () => {
  const { isOutage, fail } = openWatch({ probe: async () => {} })
  for (let failure = 0; failure < 10; failure++) {
    await fail()
    await pass(OUTAGE_MS / 2)
    expect(isOutage()).toBe(false)
  }
})

test('one failed attempt is no outage, however long nothing else is tried', async () => {
  const { isOutage, work, fail } = openWatch({ probe: () => new Promise(() => {}) })
  for (let time = 0; time < 2; time++) {
    await work()
    await fail()
  }
  await pass(10 * OUTAGE_MS)
  expect(isOutage()).toBe(false)
})

test('the time for which the process itself was stopped is no outage', async () => {
  const { isOutage, fail } = openWatch({ outageMs: defaults.outageMs })
  // As after SIGCONT: the clock has moved, no timer ran, and what was under way is too late.
  const { now } = performance
  const clock = vi
    .spyOn(performance, 'now')
    .mockImplementation(() => now.call(performance) + 60_000)
  onTestFinished(() => clock.mockRestore())
  await fail()
  await fail()
  await pass(defaults.outageMs - 2_000)
  expect(isOutage()).toBe(false)
  await pass(2_000)
  expect(isOutage()).toBe(true)
})

for (const [name, failsAfterMs] of [
  ['refuses', 0],
  ['does not answer', patience.callMs],
] as const) {
  test(`a node whose database ${name} has an outage 15 s later, whenever it was lost`, async () => {
    expect(defaults.outageMs).toBe(15_000)
    for (let lostAtMs = 20_000; lostAtMs < 35_000; lostAtMs += 500) {
      const began = performance.now()
      const ask = async () => {
        if (performance.now() - began < lostAtMs) return
        await new Promise((resolve) => setTimeout(resolve, failsAfterMs))
        throw new Error('lost')
      }
      const { observe, onOutage, stop } = openWatch({ outageMs: defaults.outageMs, probe: ask })
      const schedule = createSchedule(() => {})
      schedule.every(defaults.reconcileMs, { work: () => observe(ask), problem: 'reconcile' })
      schedule.every(defaults.beatMs, { work: () => observe(ask), problem: 'beat' })
      await pass(lostAtMs + 20_000)
      stop()
      schedule.stop()
      const [outage] = onOutage.mock.results
      const afterMs = Number(outage?.value) - began - lostAtMs
      expect(afterMs).toBeGreaterThan(defaults.outageMs - defaults.reconcileMs - 1)
      expect(afterMs).toBeLessThanOrEqual(defaults.outageMs + 200)
    }
  })
}
