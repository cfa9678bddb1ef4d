import { createLru } from '@parley/server/core/lru'
import { expect, test } from 'vitest'

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
