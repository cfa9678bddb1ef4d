import { FairQueue } from '../../core/fair-queue.ts'

/**
 * How many commands are decoded or handled before other work gets the event loop: about a
 * millisecond of it, which other calls wait for several times.
 */
const COMMANDS_PER_TURN = 20
/** How many of these one connection may decode while others wait. */
const DECODED_AT_ONCE = 10

/**
 * Divides the event loop between connections. In each turn of the loop a bounded number of commands
 * is decoded or handled, however many connections there are. The rest continues in later turns, in
 * which apps alternate, so an app with many sockets delays the others by one turn at most. Sockets
 * that are not connected yet count as one app.
 */
export class CommandTurns {
  #left = COMMANDS_PER_TURN
  #isNextDue = false
  /** Connections that continue later. */
  readonly #waiting = new FairQueue<() => void>()

  /** Whether a connection may decode one more command in this turn, after so many. */
  hasRoom(decoded: number) {
    const isEnough = decoded >= DECODED_AT_ONCE && this.#waiting.size > 0
    return this.#left > 0 && !isEnough
  }

  /** Counts commands that were decoded, or are handled. */
  take(count = 1) {
    this.#left -= count
    this.#planNext()
  }

  /** Resolves once a command may be handled. */
  async toHandle(appId: string) {
    if (this.#left > 0) return this.take()
    await new Promise<void>((resolve) => {
      this.wait(appId, () => {
        this.take()
        resolve()
      })
    })
  }

  /** Calls back in a later turn that has room for a command. */
  wait(appId: string, goOn: () => void) {
    this.#waiting.push(appId, goOn)
    this.#planNext()
  }

  #planNext() {
    if (this.#isNextDue) return
    this.#isNextDue = true
    setImmediate(() => this.#begin())
  }

  #begin() {
    this.#isNextDue = false
    this.#left = COMMANDS_PER_TURN
    while (this.#left > 0 && this.#waiting.size > 0) this.#waiting.shift()?.()
    if (this.#waiting.size > 0) this.#planNext()
  }
}
