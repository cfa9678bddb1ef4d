/** A token bucket of commands: its size, and how many a connection earns in a second. */
const COMMAND_BURST = 2_500
const COMMANDS_PER_SECOND = 100
/** The number of refused commands after which a connection is closed. */
const MAX_REFUSED = 1_000

/** The commands that a connection may still send. */
export class Credit {
  #credit = COMMAND_BURST
  #creditedAt = performance.now()

  /** Pays for `count` commands. */
  take(count = 1) {
    const now = performance.now()
    const earned = ((now - this.#creditedAt) / 1000) * COMMANDS_PER_SECOND
    this.#credit = Math.min(COMMAND_BURST, this.#credit + earned) - count
    this.#creditedAt = now
  }

  /** Commands are to be refused. */
  get isUsedUp() {
    return this.#credit < 0
  }

  /** So many were refused that the connection is to be closed. */
  get isAbused() {
    return this.#credit < -MAX_REFUSED
  }
}
