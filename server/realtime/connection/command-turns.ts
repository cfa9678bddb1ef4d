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
  /** Connections that continue later, by app. The first app is the next one. */
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
      // Appended again: this app's next turn comes after those of the others.
      if (waiting.length > 0) this.#waiting.set(appId, waiting)
      goOn?.()
    }
    if (this.#waiting.size > 0) this.#planNext()
  }
}
