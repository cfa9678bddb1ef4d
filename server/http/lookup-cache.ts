import { limits } from '@parley/contract'
import { createLru } from '../core/lru.ts'

/** How long another node may still accept a revoked token, a deleted user or a deleted key. */
export const CACHE_MS = limits.revocationSeconds * 1_000
export const CACHE_ENTRIES = 20_000

/**
 * Caches values of the database for a while. A value that was loaded while any entry was dropped is
 * not cached: it may be older than the revocation.
 */
export function createLookupCache<Value extends NonNullable<unknown>>() {
  const cached = createLru<Value>({ entries: CACHE_ENTRIES, ttl: CACHE_MS })
  let drops = 0
  type Look = () => Promise<Value | undefined>
  type Source = { inTurn: (look: Look) => Promise<Value | undefined>; select: Look }
  /** Look-ups on their way: calls with the same credentials share one. */
  const pending = new Map<string, Promise<Value | undefined>>()
  const lookUp = async (key: string, select: Look) => {
    const dropsBefore = drops
    const value = await select()
    if (value !== undefined && drops === dropsBefore) cached.set(key, value)
    return value
  }
  const begin = (key: string, { inTurn, select }: Source) => {
    const look = inTurn(() => lookUp(key, select)).finally(() => {
      if (pending.get(key) === look) pending.delete(key)
    })
    pending.set(key, look)
    return look
  }
  return {
    load: async (key: string, source: Source) =>
      cached.get(key) ?? pending.get(key) ?? begin(key, source),
    drop: (key: string) => {
      drops += 1
      cached.delete(key)
      pending.delete(key)
    },
    dropAll: () => {
      drops += 1
      cached.clear()
      pending.clear()
    },
  }
}
