import type { EventEmitter } from 'node:events'
import { limits } from '@parley/contract'
import type { CountedSocket } from './counted-socket.ts'
import type { StreamSocket } from './stream-socket.ts'

const ignore = () => {}

/** The memory of a socket that has sent nothing. */
const SOCKET_BYTES = 8 * 1024

type Socket = CountedSocket | StreamSocket

/**
 * Sockets, of all kinds, whose token is not verified yet. The bytes that they sent may still be in
 * memory, as part of a frame, so together they have a budget, beyond which the oldest are cut. A
 * client with a token is a stranger for a moment only.
 */
export class Strangers {
  /** In the order in which they came. */
  readonly #bytes = new Map<Socket, number>()
  #total = 0

  add(socket: Socket, incoming: EventEmitter) {
    const onData = ({ length }: Buffer) => this.#count(socket, length)
    // Its listeners are removed as well: a socket lives on long after it has a user.
    const forget = () => {
      incoming.off('data', onData)
      socket.off('close', forget)
      socket.onOwned = ignore
      this.#forget(socket)
    }
    this.#bytes.set(socket, 0)
    incoming.on('data', onData)
    socket.onOwned = forget
    socket.on('close', forget)
    this.#count(socket, SOCKET_BYTES)
  }

  #count(socket: Socket, bytes: number) {
    const sent = this.#bytes.get(socket)
    if (sent === undefined) return
    this.#bytes.set(socket, sent + bytes)
    this.#total += bytes
    while (this.#total > limits.realtime.strangersBytes) this.#cutOldest()
  }

  #cutOldest() {
    const [oldest] = this.#bytes.keys()
    if (!oldest) return
    this.#forget(oldest)
    oldest.terminate()
  }

  #forget(socket: Socket) {
    this.#total -= this.#bytes.get(socket) ?? 0
    this.#bytes.delete(socket)
  }
}
