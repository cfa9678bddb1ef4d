import { AsyncResource } from 'node:async_hooks'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How many requests may wait on a connection for the answers before them. */
const MOST_WAITING = 64

/**
 * Lets the requests that a connection sends without waiting for answers take turns. An answer that
 * is ready before its turn would stay in memory however slowly its client reads, and after the
 * client has left: Node.js does not report that. A connection on which too many wait is closed.
 */
export function createTurns() {
  const waiting = new WeakMap<Socket, number>()
  const count = (socket: Socket, change: number) => {
    const after = (waiting.get(socket) ?? 0) + change
    waiting.set(socket, after)
    return after
  }
  /**
   * Calls `begin` once the answer is the next one of its connection: never, if that is closed. It
   * must not throw, since nobody would catch that.
   */
  return ({ socket }: IncomingMessage, response: ServerResponse, begin: () => void) => {
    if (isItsTurn(response)) return begin()
    if (count(socket, 1) > MOST_WAITING) socket.destroy()
    // Within its own span: its turn comes while the answer before it ends.
    const beginAsItself = AsyncResource.bind(begin)
    onTurn(response, () => {
      count(socket, -1)
      beginAsItself()
    })
  }
}

const isItsTurn = (response: ServerResponse) => response.socket !== null

/** Calls `begin` once the answer is the next one of its connection. */
export function onTurn(response: ServerResponse, begin: () => void) {
  if (isItsTurn(response)) begin()
  else response.once('socket', begin)
}
