import { createRateLimits } from '@parley/server/http/rate-limits'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

// The minute of a window passes on the clock of the test.
beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const rates = () => createRateLimits({ tokens: 3, messages: 3, requests: 3 })
const takeMany = async ({ take }: ReturnType<typeof rates>, count: number) => {
  const windows = await Promise.all(Array.from({ length: count }, () => take('messages', 'ana')))
  return windows.filter((window) => !window?.isExceeded).length
}

test('a rate limit window lasts a minute from its first call', async () => {
  const limits = rates()
  expect(await takeMany(limits, 1)).toBe(1)
  vi.advanceTimersByTime(59_999)
  expect(await takeMany(limits, 5)).toBe(2)
  expect(await limits.take('messages', 'ana')).toMatchObject({
    isExceeded: true,
    remaining: 0,
    resetSeconds: 1,
  })
  vi.advanceTimersByTime(1)
  expect(await takeMany(limits, 5)).toBe(3)
})

test('a unit returned after its window has ended adds nothing to the next window', async () => {
  const limits = rates()
  const window = await limits.take('messages', 'ana')
  vi.advanceTimersByTime(60_000)
  await window?.giveBack()
  expect(await takeMany(limits, 5)).toBe(3)
})

test('a returned unit is available to the next call, whatever was refused before', async () => {
  const limits = rates()
  const window = await limits.take('messages', 'ana')
  expect(await takeMany(limits, 10)).toBe(2)
  await window?.giveBack()
  expect(await takeMany(limits, 10)).toBe(1)
})

test('a call that the app has no room for leaves the window of its caller as it was', async () => {
  const { take, takeForApp } = createRateLimits({
    tokens: 0,
    messages: 0,
    requests: 2,
    appRequests: 1,
  })
  const call = async (user: string) => takeForApp('app', await take('requests', user))
  expect(await call('ana')).toMatchObject({ isExceeded: false, limit: 1, remaining: 0 })
  for (const _ of [1, 2, 3]) expect(await call('ana')).toMatchObject({ isExceeded: true, limit: 1 })
  expect(await take('requests', 'ana')).toMatchObject({ isExceeded: false, remaining: 0 })
})

test('a call that its caller has no room for takes none of the app', async () => {
  const { take, takeForApp } = createRateLimits({
    tokens: 0,
    messages: 0,
    requests: 1,
    appRequests: 2,
  })
  const call = async (user: string) => takeForApp('app', await take('requests', user))
  expect(await call('ana')).toMatchObject({ isExceeded: false })
  for (const _ of [1, 2, 3]) expect(await call('ana')).toMatchObject({ isExceeded: true })
  expect(await call('ben')).toMatchObject({ isExceeded: false })
})
