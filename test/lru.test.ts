import { createLru } from '@parley/server/core/lru'
import { createLookupCache } from '@parley/server/http/lookup-cache'
import { createHostLimit } from '@parley/server/jobs/previews/fair-share'
import { expect, onTestFinished, test, vi } from 'vitest'
import { stopClock } from './support/clock.ts'

test('a cache keeps the entries that were used last', () => {
  const cache = createLru<number>({ entries: 2 })
  cache.set('a', 1)
  cache.set('b', 2)
  cache.get('a')
  cache.set('c', 3)
  expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual([1, undefined, 3])
})

test('a cache takes no memory for entries that it does not have', () => {
  const before = process.memoryUsage().arrayBuffers
  const cache = createLru<number>({ entries: 10_000_000, ttl: 1_000 })
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000)
  cache.set('a', 1)
  expect(cache.get('a')).toBe(1)
})

test('the window of a host begins with its first fetch, however many follow', () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const clock = stopClock()
  const limit = createHostLimit({ most: 2, windowMs: 1_000 })
  const countAt = (milliseconds: number) => {
    clock.putForward(milliseconds)
    // For a moment the cache remembers the time.
    vi.advanceTimersByTime(10)
    const fetched = { appId: 'app', host: 'example.com' }
    limit.check(fetched)
    limit.count(fetched)
  }
  countAt(0)
  countAt(900)
  expect(() => countAt(901)).toThrow('rate limit: 2 fetches')
  countAt(1_100)
})

function lookUps() {
  const cache = createLookupCache<string>()
  const load = (key: string, select: () => Promise<string>) =>
    cache.load(key, { inTurn: (look) => look(), select })
  return { cache, load }
}

test('entries that were looked up while anything was revoked are looked up again', async () => {
  const { cache, load } = lookUps()
  const revocations = { one: () => cache.drop('another'), all: cache.dropAll }
  for (const [key, revoke] of Object.entries(revocations)) {
    const first = load(key, async () => {
      revoke()
      return 'old'
    })
    expect(await first).toBe('old')
    expect(await load(key, async () => 'new'), key).toBe('new')
    expect(await load(key, async () => 'newer'), key).toBe('new')
  }
})

test('a call that comes after a revocation shares no look-up from before it', async () => {
  const { cache, load } = lookUps()
  for (const revoke of [() => cache.drop('key'), cache.dropAll]) {
    let answer = (_: string) => {}
    const before = load('key', () => new Promise((resolve) => (answer = resolve)))
    revoke()
    const after = load('key', async () => 'new')
    answer('old')
    expect(await after).toBe('new')
    expect(await before).toBe('old')
    cache.dropAll()
  }
})
