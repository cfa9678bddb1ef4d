import { createLru } from './lru.ts'

/** The time of something's last use is written at most this often. */
export const PRECISION_MS = 60_000
const FLUSH_MS = 2_000

type TouchesOptions<Used> = {
  keyOf: (used: Used) => string
  /** How many are remembered, so that they are not written again. */
  entries: number
  write: (used: Used[]) => Promise<unknown>
}

/**
 * Records when something was last used. It is never part of a request: what was used is collected
 * and written every few seconds, in one statement. A crash loses the last few seconds.
 */
export function createTouches<Used>({ keyOf, entries, write }: TouchesOptions<Used>) {
  const recent = createLru<true>({ entries, ttl: PRECISION_MS })
  let pending: Used[] = []
  let timer: NodeJS.Timeout | undefined

  const touch = (used: Used) => {
    const key = keyOf(used)
    if (recent.has(key)) return
    recent.set(key, true)
    pending.push(used)
    timer ??= setTimeout(flushOrDrop, FLUSH_MS).unref()
  }
  /** Writes what was collected. To be called before the database is closed. */
  const flush = async () => {
    clearTimeout(timer)
    timer = undefined
    const collected = pending
    pending = []
    if (collected.length > 0) await write(collected)
  }
  // Without the database the update is dropped: the next use follows.
  const flushOrDrop = () => void flush().catch(() => {})
  return { touch, flush }
}
