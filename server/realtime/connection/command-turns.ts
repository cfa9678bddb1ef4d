/** How many commands are decoded, or handled, before the rest of the process has the event loop. */
const COMMANDS_PER_TURN = 100
/** How many of them one connection has decoded while others wait. */
const DECODED_AT_ONCE = 50

/**
 * Divides the event loop between connections. In each of its turns a bounded number of commands is
 * decoded or handled, of whatever number of connections. What is left goes on in later turns, in
 * which apps alternate: one with many sockets keeps no other waiting for more than a turn. Sockets
 * that are not connected yet take turns as if they were of one app.
 */
export class CommandTurns {
  #left = COMMANDS_PER_TURN
  #isNextDue = false
  /** What goes on later, by app. The app that is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>()

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
    const waiting = this.#waiting.get(appId)
    if (waiting) waiting.push(goOn)
    else this.#waiting.set(appId, [goOn])
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
    for (const [appId, waiting] of this.#waiting) {
      if (this.#left <= 0) break
      const goOn = waiting.shift()
      this.#waiting.delete(appId)
      // The loop comes by again.
      if (waiting.length > 0) this.#waiting.set(appId, waiting)
      goOn?.()
    }
    if (this.#waiting.size > 0) this.#planNext()
  }
}
