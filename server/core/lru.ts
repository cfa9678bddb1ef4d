import { LRUCache } from 'lru-cache'

type LruOptions = { entries: number; ttl?: number; noUpdateTTL?: boolean }

/**
 * A cache of the entries used last, at most so many. It takes memory as it fills: with `max`,
 * lru-cache would reserve that of all entries.
 */
export const createLru = <Value extends NonNullable<unknown>>({
  entries,
  ...options
}: LruOptions) =>
  new LRUCache<string, Value>({ ...options, maxSize: entries, sizeCalculation: () => 1 })
