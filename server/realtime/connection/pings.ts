import type { Timings } from '../timings.ts'

type PingsOptions = {
  timings: Pick<Timings, 'pingMs' | 'pongMs'>
  send: () => void
  /** Called when a ping has had no pong in time. */
  onNoPong: () => void
}

/** Pings a client, and again some time after each pong. */
export class Pings {
  readonly #options: PingsOptions
  #timer: NodeJS.Timeout | undefined
  #isAwaitingPong = false

  constructor(options: PingsOptions) {
    this.#options = options
  }

  start() {
    const { pingMs } = this.#options.timings
    // Spread over time, so that not all connections are pinged at once.
    this.#pingAfter(pingMs / 2 + (Math.random() * pingMs) / 2)
  }

  /** The client has sent a pong. False if it was not asked for one. */
  handlePong() {
    if (!this.#isAwaitingPong) return false
    this.#isAwaitingPong = false
    this.#pingAfter(this.#options.timings.pingMs)
    return true
  }

  stop() {
    clearTimeout(this.#timer)
  }

  #pingAfter(milliseconds: number) {
    const { timings, send, onNoPong } = this.#options
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#isAwaitingPong = true
      send()
      this.#timer = setTimeout(onNoPong, timings.pongMs)
    }, milliseconds)
  }
}
