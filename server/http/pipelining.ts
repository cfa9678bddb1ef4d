import { AsyncResource } from 'node:async_hooks'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { cutOff } from './cut-off.ts'
import { createRequestTurns } from './request-turns.ts'

/** How many requests may wait on a connection for the answers before them. */
const MOST_WAITING = 64

/**
 * Makes requests take turns: those of all callers, and pipelined ones of each connection. An answer
 * that is ready before its turn would stay in memory, however slowly its client reads, and even
 * after the client has left, which Node.js does not report. A connection with too many waiting
 * requests is closed.
 */
export function createTurns() {
  const inTurn = createRequestTurns()
  const waiting = new WeakMap<Socket, number>()
  const count = (socket: Socket, change: number) => {
    const after = (waiting.get(socket) ?? 0) + change
    waiting.set(socket, after)
    return after
  }
  /**
   * Calls `begin` once it is this answer's turn on its connection, and never if that closes.
   * `begin` must not throw, since nobody would catch it.
   */
  return (
    callerOf: () => string,
    { socket }: IncomingMessage,
    response: ServerResponse,
    begin: () => void,
  ) => {
    const beginUnlessClosed = () => {
      if (!socket.destroyed) begin()
    }
    if (isItsTurn(response)) return inTurn(callerOf, beginUnlessClosed)
    if (count(socket, 1) > MOST_WAITING) cutOff(socket)
    // In the async context of its own request: its turn comes while another answer ends.
    const beginAsItself = AsyncResource.bind(beginUnlessClosed)
    onTurn(response, () => {
      count(socket, -1)
      inTurn(callerOf, beginAsItself)
    })
  }
}

const isItsTurn = (response: ServerResponse) => response.socket !== null

/** Calls `begin` once it is this answer's turn on its connection. */
export function onTurn(response: ServerResponse, begin: () => void) {
  if (isItsTurn(response)) begin()
  else response.once('socket', begin)
}
