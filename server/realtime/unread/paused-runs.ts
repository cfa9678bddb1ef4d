/** How long to wait after work failed; twice as long each time that it fails again. */
const RETRY_MS = 1_000
const LONGEST_RETRY_MS = 8_000

type RunsOptions = {
  pauseMs: number
  work: () => Promise<void>
  /** Whether there is anything to do. */
  isDue: () => boolean
  onFailure: (error: unknown) => void
}

/** Runs work when asked to, if any is due, never twice at once, with a pause after each run. */
export class PausedRuns {
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isStopped = false
  #endedAt = Number.NEGATIVE_INFINITY
  /** How many runs have failed one after the other. */
  #failures = 0

  constructor(readonly options: RunsOptions) {}

  schedule() {
    if (this.#timer !== undefined || this.#running || this.#isStopped) return
    if (!this.options.isDue()) return
    const waitMs = this.#endedAt + this.options.pauseMs - performance.now()
    const run = () => {
      this.#timer = undefined
      this.#running = this.#run()
    }
    this.#timer = setTimeout(run, Math.max(0, waitMs))
  }

  /** Resolves once the last run has ended. */
  async stop() {
    clearTimeout(this.#timer)
    this.#isStopped = true
    await this.#running
  }

  async #run() {
    try {
      await this.options.work()
      this.#endedAt = performance.now()
      this.#failures = 0
    } catch (error) {
      if (!this.#isStopped) this.options.onFailure(error)
      const pauseMs = Math.min(RETRY_MS * 2 ** this.#failures, LONGEST_RETRY_MS)
      this.#failures += 1
      this.#endedAt = performance.now() + pauseMs
    }
    this.#running = undefined
    this.schedule()
  }
}
