import type { Db } from '../db/client.ts'
import { createLru } from './lru.ts'

export type KeyUses = ReturnType<typeof createKeyUses>

/** The time of a key's last use is written at most this often. */
const PRECISION_MS = 60_000
const FLUSH_MS = 2_000

/**
 * Records when API keys were last used, as `last-active.ts` does for users: never as a part of a
 * request, and a crash loses the last seconds.
 */
export function createKeyUses(db: Db) {
  const recent = createLru<true>({ entries: 10_000, ttl: PRECISION_MS })
  let pending: string[] = []
  let timer: NodeJS.Timeout | undefined

  const touch = (keyId: string) => {
    if (recent.has(keyId)) return
    recent.set(keyId, true)
    pending.push(keyId)
    timer ??= setTimeout(flushOrDrop, FLUSH_MS).unref()
  }
  /** Writes the collected keys. To be called before the database is closed. */
  const flush = async () => {
    clearTimeout(timer)
    timer = undefined
    const keyIds = pending
    pending = []
    if (keyIds.length === 0) return
    // Keys that somebody changes at the moment are skipped rather than waited for.
    await db.use(
      (db) => db`
        update api_keys
        set last_used_at = now()
        where id = any(array(
          select ak.id
          from api_keys ak
          where ak.id = any(${keyIds}::uuid[])
          for no key update skip locked
        ))`,
    )
  }
  const flushOrDrop = () => void flush().catch(() => {})
  return { touch, flush }
}
