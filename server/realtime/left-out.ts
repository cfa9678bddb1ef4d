import { createLru } from '../core/lru.ts'
import { isCutShort } from '../db/client.ts'

const PAUSE_MS = 5_000
const LONGEST_PAUSE_MS = 60_000

/**
 * What is not counted for a while, since its own statement took too long: twice as long each time
 * that it does, so that it costs the database little. While it is a full pool that leaves a
 * statement no time, the pause stays short: all is told within 15 s after the pool is free.
 */
export class LeftOut {
  readonly #keys = new Set<string>()
  readonly #nextPauses = createLru<number>({ entries: 10_000 })

  has(key: string) {
    return this.#keys.has(key)
  }

  /** Its statement took too long, with this error. `onEnd` is called at the end of the pause. */
  add(key: string, { error, onEnd }: { error: unknown; onEnd: () => void }) {
    if (this.#keys.has(key)) return
    const pauseMs = isCutShort(error) ? PAUSE_MS : (this.#nextPauses.get(key) ?? PAUSE_MS)
    if (!isCutShort(error)) this.#nextPauses.set(key, Math.min(2 * pauseMs, LONGEST_PAUSE_MS))
    this.#keys.add(key)
    const end = () => {
      this.#keys.delete(key)
      onEnd()
    }
    setTimeout(end, pauseMs).unref()
  }

  /** Its statement worked: the next pause is a short one. */
  worked(key: string) {
    this.#nextPauses.delete(key)
  }
}
