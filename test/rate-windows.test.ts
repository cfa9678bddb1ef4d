import type { ConnectRedis } from '@parley/server/core/redis'
import { createRateLimits, type RateLimitWindow } from '@parley/server/http/rate-limits'
import { createSharedWindows } from '@parley/server/http/shared-windows'
import { expect, onTestFinished, test, vi } from 'vitest'

/** Limits under a clock of our own. */
function underClock(rates: Parameters<typeof createRateLimits>[0]) {
  vi.useFakeTimers({ now: 0 })
  onTestFinished(() => void vi.useRealTimers())
  const { take } = createRateLimits(rates)
  return async (
    limit: 'tokens' | 'messages' | 'requests' = 'messages',
  ): Promise<RateLimitWindow> => {
    const window = await take(limit, 'ana')
    if (!window) throw new Error('the call was not counted')
    return window
  }
}

test('a window lasts a minute from its first call', async () => {
  const take = underClock({ tokens: 0, messages: 1, requests: 0 })
  expect(await take()).toMatchObject({ isExceeded: false, resetSeconds: 60 })
  vi.advanceTimersByTime(59_900)
  expect(await take()).toMatchObject({ isExceeded: true, remaining: 0 })
  vi.advanceTimersByTime(100)
  expect(await take()).toMatchObject({ isExceeded: false })
})

test('under a limit that was lowered no calls remain, and never a negative number', async () => {
  const { take } = createRateLimits({ tokens: 0, messages: 3, requests: 0 })
  for (let call = 0; call < 3; call++) await take('messages', 'ana')
  const lowered = await take('messages', 'ana', { messages: 1 })
  expect(lowered).toMatchObject({ isExceeded: true, remaining: 0, limit: 1 })
})

test('a call that waits for Retry-After is in the next window', async () => {
  const take = underClock({ tokens: 0, messages: 1, requests: 0 })
  await take()
  vi.advanceTimersByTime(58_500)
  expect((await take()).resetSeconds).toBe(2)
  vi.advanceTimersByTime(1_499)
  expect((await take()).resetSeconds).toBe(1)
})

test('a call that is given back after its window frees no room in the next one', async () => {
  const take = underClock({ tokens: 0, messages: 2, requests: 0 })
  const { giveBack } = await take()
  vi.advanceTimersByTime(60_001)
  await take()
  await giveBack()
  expect((await take()).isExceeded).toBe(false)
  expect((await take()).isExceeded).toBe(true)
})

test.each([-1, 1])('a clock that is set by %i hours moves no window', async (hours) => {
  const take = underClock({ tokens: 0, messages: 1, requests: 0 })
  await take()
  vi.advanceTimersByTime(20_000)
  vi.setSystemTime(Date.now() + hours * 3_600_000)
  expect(await take()).toMatchObject({ isExceeded: true, resetSeconds: 40 })
  vi.advanceTimersByTime(40_000)
  expect(await take()).toMatchObject({ isExceeded: false, resetSeconds: 60 })
})

test('tokens, messages and other calls have a limit each', async () => {
  const take = underClock({ tokens: 1, messages: 2, requests: 3 })
  for (const [kind, limit] of [
    ['tokens', 1],
    ['messages', 2],
    ['requests', 3],
  ] as const)
    expect(await take(kind)).toMatchObject({ limit, remaining: limit - 1 })
})

test('a call given back after its shared window is not taken out of the next one', async () => {
  vi.useFakeTimers({ now: 0 })
  onTestFinished(() => void vi.useRealTimers())
  const given: string[] = []
  const { take } = createRateLimits(
    { tokens: 0, messages: 2, requests: 0 },
    {
      take: async () => ({ used: 1, milliseconds: 60_000, isExceeded: false }),
      giveBack: (key) => void given.push(key),
      close: () => {},
    },
  )
  const [early, late] = [await take('messages', 'ana'), await take('messages', 'ben')]
  vi.advanceTimersByTime(59_999)
  early?.giveBack()
  vi.advanceTimersByTime(1)
  late?.giveBack()
  expect(given).toEqual(['messages:ana'])
})

test('a Redis that did not answer is not asked again for a second', async () => {
  vi.useFakeTimers({ now: 0 })
  onTestFinished(() => void vi.useRealTimers())
  let asked = 0
  const failing = async () => {
    asked += 1
    throw new Error('no answer')
  }
  const connection = { client: { eval: failing }, isReady: () => true, close: () => {} }
  const { take } = createSharedWindows({
    prefix: 'parley',
    connect: (() => connection) as unknown as ConnectRedis, // what it calls of it
  })
  const askedAfter = async (milliseconds: number) => {
    vi.advanceTimersByTime(milliseconds)
    expect(await take('ana', 1)).toBeUndefined()
    return asked
  }
  expect([await askedAfter(0), await askedAfter(999), await askedAfter(1)]).toEqual([1, 1, 2])
})
