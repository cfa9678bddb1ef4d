import type { Socket } from 'node:net'

/** The HTTP parser of a socket, which the types of Node.js do not have. */
type Parsed = { parser?: { onIncoming: () => number } | null }

/** Returned to a parser by the handler of a request if the rest is in another protocol. */
const NOT_HTTP = 2

/**
 * Closes a connection, and begins no more of the requests that have arrived on it. Closed alone,
 * all that was read at once would be served to the end: thousands of requests in 64 KB.
 */
export function cutOff(socket: Socket) {
  const { parser } = socket as Parsed // Node.js sets it
  if (parser) parser.onIncoming = () => NOT_HTTP
  socket.destroy()
}
