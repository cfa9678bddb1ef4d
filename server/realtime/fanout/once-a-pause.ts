import { setTimeout as wait } from 'node:timers/promises'
import { createLru } from '../../core/lru.ts'

type PauseOptions<Item> = {
  pauseMs: number
  keyOf: (item: Item) => string
  /** For how many items the time of the last reading is remembered. */
  entries: number
}

/**
 * Reads an item at most once in a pause. The first call is answered at once; those within the pause
 * share a reading at its end. Unlike a cached answer, the answer to a call is thus never older than
 * the call.
 */
export function onceAPause<Item, Result>(
  read: (item: Item) => Promise<Result>,
  { pauseMs, keyOf, entries }: PauseOptions<Item>,
) {
  const lastReads = createLru<number>({ entries })
  /** Readings that have not begun. */
  const pending = new Map<string, Promise<Result>>()

  const readNow = (item: Item, key: string) => {
    lastReads.set(key, performance.now())
    return read(item)
  }
  const readLater = async (item: Item, { key, waitMs }: { key: string; waitMs: number }) => {
    await wait(waitMs, undefined, { ref: false })
    pending.delete(key)
    return readNow(item, key)
  }
  return (item: Item): Promise<Result> => {
    const key = keyOf(item)
    const shared = pending.get(key)
    if (shared) return shared
    const waitMs = (lastReads.get(key) ?? -pauseMs) + pauseMs - performance.now()
    if (waitMs <= 0) return readNow(item, key)
    const later = readLater(item, { key, waitMs })
    pending.set(key, later)
    return later
  }
}
