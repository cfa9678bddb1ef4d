import { limits } from '@parley/contract'
import { Credit, Recoveries, takeFrom } from '@parley/server/realtime/credit'
import { expect, onTestFinished, test, vi } from 'vitest'

function fakeClock() {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
}

/** The recoveries of a socket that took far more at once than it had earned. */
function usedUpRecoveries() {
  fakeClock()
  const { burstBytes, bytesPerSecond } = limits.realtime.recoveries
  const recoveries = new Recoveries()
  recoveries.take(10 * burstBytes)
  return { recoveries, burstMs: (burstBytes / bytesPerSecond) * 1_000 }
}

test('a connection may send 2,500 commands at once, and 100 a second after that', () => {
  fakeClock()
  const credit = new Credit()
  credit.take(2_500)
  expect(credit.isUsedUp).toBe(false)
  credit.take()
  expect(credit.isUsedUp).toBe(true)
  vi.advanceTimersByTime(1_000)
  credit.take(99)
  expect(credit.isUsedUp).toBe(false)
  credit.take()
  expect(credit.isUsedUp).toBe(true)
  credit.take(999)
  expect(credit.isAbused).toBe(false)
  credit.take()
  expect(credit.isAbused).toBe(true)
  vi.advanceTimersByTime(3_600_000)
  credit.take(2_500)
  expect(credit.isUsedUp).toBe(false)
  credit.take()
  expect(credit.isUsedUp).toBe(true)
})

test('a socket that used up its recoveries has some again after the time of a burst', () => {
  const { recoveries, burstMs } = usedUpRecoveries()
  vi.advanceTimersByTime(burstMs - 1)
  expect(recoveries.isUsedUp).toBe(true)
  vi.advanceTimersByTime(2)
  expect(recoveries.isUsedUp).toBe(false)
})

test('asking whether a socket may recover gives it no credit', () => {
  const { recoveries, burstMs } = usedUpRecoveries()
  vi.advanceTimersByTime(burstMs / 2)
  const asked = Array.from({ length: 5 }, () => recoveries.isUsedUp)
  expect(new Set(asked)).toEqual(new Set([true]))
})

test('the topics of a frame share the bytes of one answer', () => {
  const missed = [
    { offset: 1, type: 'message.new' as const, envelope: 'x'.repeat(600), messageId: null },
  ]
  const budget = { bytes: 1_000, recoveries: new Recoveries() }
  const isSent = () => takeFrom(budget, { remembered: [], missed })
  expect([isSent(), isSent()]).toEqual([true, false])
})
