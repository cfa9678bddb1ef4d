import type { Codec } from '../protocol/codec.ts'
import { type Closing, closings } from '../protocol/codes.ts'
import type { Transport } from '../sockets/transport.ts'
import type { Timings } from '../timings.ts'

type PingedClient = {
  readonly node: { timings: Pick<Timings, 'pingMs' | 'pongMs'> }
  readonly socket: Pick<Transport, 'send'>
  readonly codec: Pick<Codec, 'ping' | 'isBinary'>
  close(closing: Closing): void
}

/** Pings a client, and again some time after each pong. */
export class Pings {
  readonly #client: PingedClient
  #timer: NodeJS.Timeout | undefined
  #isAwaitingPong = false

  constructor(client: PingedClient) {
    this.#client = client
  }

  start() {
    const { pingMs } = this.#client.node.timings
    // Spread over time, so that connections are not all pinged at once.
    this.#pingAfter(pingMs / 2 + (Math.random() * pingMs) / 2)
  }

  /** Handles a pong. Returns false if the client was not pinged. */
  handlePong() {
    if (!this.#isAwaitingPong) return false
    this.#isAwaitingPong = false
    this.#pingAfter(this.#client.node.timings.pingMs)
    return true
  }

  stop() {
    clearTimeout(this.#timer)
  }

  #pingAfter(milliseconds: number) {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#ping(), milliseconds)
  }

  #ping() {
    const { node, socket, codec } = this.#client
    this.#isAwaitingPong = true
    socket.send(codec.ping, { binary: codec.isBinary })
    this.#timer = setTimeout(() => this.#client.close(closings.noPong), node.timings.pongMs)
  }
}
