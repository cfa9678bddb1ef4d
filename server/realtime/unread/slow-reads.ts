import { createLru } from '../../core/lru.ts'
import { isStatementTimeout } from '../../db/client.ts'
import { inChunks } from '../chunks.ts'
import { PausedRuns } from './paused-runs.ts'

/** How many keys of a slow statement share the next one; after that, each has its own. */
const PIECE = 14
/** How long such a statement may take. A good one takes little, and others wait for it. */
const QUICK_MS = 500
/** How many statements in a row may take too long before the database itself counts as slow. */
const MOST_TIMEOUTS = 4

type SlowReadsOptions = {
  pauseMs: number
  /** How long a key is skipped that took too long alone. */
  leftOutMs: number
  /** The keys to read. */
  due: () => string[]
  /** Reads these keys with one statement. Without `withinMs` it may take as long as any other. */
  read: (keys: string[], withinMs?: number) => Promise<void>
  /** Called when a key is skipped, with the error that caused it. */
  onLeftOut: (key: string, error: unknown) => void
  report: (error: unknown, problem: string) => void
}

/**
 * Reads keys whose statement took too long, so that no other work waits for it. They are tried in
 * pieces and then alone, by statements with little time: so it is soon known which of them are
 * slow. These are given more time, after all others. A key that takes too long even so is left out
 * for a while.
 */
export class SlowReads {
  /** How many keys a statement with this key may have; 0 if it was too slow even alone. */
  readonly #shares = createLru<number>({ entries: 10_000 })
  readonly #leftOut = new Set<string>()
  readonly #runs: PausedRuns

  constructor(readonly options: SlowReadsOptions) {
    this.#runs = new PausedRuns({
      pauseMs: options.pauseMs,
      work: () => this.#run(),
      isDue: () => this.#due().length > 0,
      onFailure: (error) => options.report(error, 'unread count failed'),
    })
  }

  has(key: string) {
    return this.#shares.has(key)
  }

  isLeftOut(key: string) {
    return this.#leftOut.has(key)
  }

  /** A statement with these keys took too long. */
  add(keys: string[]) {
    const alone = keys.length > 1 ? 1 : 0
    const share = keys.length > PIECE ? PIECE : alone
    for (const key of keys) this.#shares.set(key, share)
    this.schedule()
  }

  schedule() {
    this.#runs.schedule()
  }

  stop() {
    return this.#runs.stop()
  }

  async #run() {
    await this.#readQuickly()
    for (const key of this.#withShare(0)) {
      const error = await this.#try([key])
      // The remaining keys need not wait for another statement.
      if (error !== undefined) return
    }
  }

  async #readQuickly() {
    let timeouts = 0
    for (const share of [PIECE, 1]) {
      for (const keys of inChunks(this.#withShare(share), share)) {
        const error = await this.#try(keys, QUICK_MS)
        timeouts = error === undefined ? 0 : timeouts + 1
        if (timeouts === MOST_TIMEOUTS) throw error
      }
    }
  }

  /** Reads them by one statement. Returns its error if it took too long. */
  async #try(keys: string[], withinMs?: number): Promise<unknown> {
    try {
      await this.options.read(keys, withinMs)
      for (const key of keys) this.#shares.delete(key)
      return undefined
    } catch (error) {
      if (!isStatementTimeout(error)) throw error
      this.add(keys)
      if (withinMs === undefined) {
        for (const key of keys) this.#leaveOut(key, error)
      }
      return error
    }
  }

  #leaveOut(key: string, error: unknown) {
    this.#leftOut.add(key)
    const end = () => {
      this.#leftOut.delete(key)
      this.schedule()
    }
    setTimeout(end, this.options.leftOutMs).unref()
    this.options.onLeftOut(key, error)
  }

  #due() {
    return this.options.due().filter((key) => !this.#leftOut.has(key))
  }

  #withShare(share: number) {
    return this.#due().filter((key) => (this.#shares.get(key) ?? 1) === share)
  }
}
