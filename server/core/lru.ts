import { LRUCache } from 'lru-cache'

type LruOptions = { entries: number; ttl?: number; noUpdateTTL?: boolean }

/**
 * A cache of at most this many entries, those used last. Its memory grows as it fills: with `max`,
 * lru-cache would reserve memory for all entries at once.
 */
export const createLru = <Value extends NonNullable<unknown>>({
  entries,
  ...options
}: LruOptions) =>
  new LRUCache<string, Value>({ ...options, maxSize: entries, sizeCalculation: () => 1 })
