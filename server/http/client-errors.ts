import { randomUUID } from 'node:crypto'
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Duplex } from 'node:stream'
import { ApiError } from '../core/errors.ts'
import { statusOf, toErrorBody } from './errors.ts'
import { isStreamed } from './streamed-body.ts'

/** The code of a connection on which no complete request came in time. */
const TIMED_OUT = 'ERR_HTTP_REQUEST_TIMEOUT'

/** How long a client has to close its side of a connection after the last answer. */
const LINGER_MS = 5_000

type Exchange = { request: IncomingMessage; response: ServerResponse }
type ClientError = Error & { code?: string; rawPacket?: Buffer }

/** The log line of a request that Node.js could not parse. */
type RefusedRequest = {
  status: number
  reason: string
  address: string | undefined
  requestId: string
}
type ClientErrorOptions = {
  commonHeaders: (requestId: string, headers: IncomingHttpHeaders) => Record<string, string>
  onRefused: (refused: RefusedRequest) => void
}

/**
 * Responds to requests that Node.js does not pass on: malformed ones, CONNECT, and those with an
 * unknown expectation; and to handshakes that ws refuses. Both would respond in their own formats
 * or not at all, so our responses are written to the socket.
 */
export function handleClientErrors(
  server: Server,
  { commonHeaders, onRefused }: ClientErrorOptions,
) {
  const latest = new WeakMap<Duplex, Exchange>()
  /** The text of the answer. */
  const refusalText = (error: ApiError, socket: Duplex, headers: IncomingHttpHeaders) => {
    const requestId = randomUUID()
    const address = 'remoteAddress' in socket ? String(socket.remoteAddress) : undefined
    onRefused({ status: statusOf(error), reason: error.message, address, requestId })
    return toText(error, commonHeaders(requestId, headers))
  }
  server.on('request', (request, response) => {
    const { socket } = request
    latest.set(socket, { request, response })
    // An idle connection keeps nothing in memory.
    response.once('close', () => {
      if (latest.get(socket)?.response === response) latest.delete(socket)
    })
  })

  server.on('clientError', (error: ClientError, socket) => {
    const { request, response } = latest.get(socket) ?? {}
    if (error.code === TIMED_OUT && request && isStreamed(request)) return
    if (error.code === 'ECONNRESET' || !socket.writable || isUnused(error, socket))
      return socket.destroy()
    const apiError =
      error instanceof ApiError ? error : new ApiError('VALIDATION_ERROR', messageFor(error))
    const origin = originIn(error.rawPacket)
    const answer = refusalText(apiError, socket, origin === undefined ? {} : { origin })
    const respond = () => endWith(socket, answer)
    // The response to an earlier, complete request on this connection goes first.
    const isPending = request?.complete && response && !response.writableFinished
    if (isPending) response.once('finish', respond)
    else respond()
  })
  server.on('connect', ({ headers }, socket) => {
    endWith(socket, refusalText(new ApiError('NOT_FOUND', 'No such route'), socket, headers))
  })
  // Unknown expectations may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
}

/**
 * Node.js no longer times out this connection: without this, a client could keep it open for ever.
 */
function endWith(socket: Duplex, text: string) {
  socket.end(text)
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
}

/**
 * Whether a connection timed out before anything came. It gets no answer: a request already on its
 * way would take that for its own.
 */
const isUnused = ({ code }: ClientError, socket: Duplex) =>
  code === TIMED_OUT && 'bytesRead' in socket && socket.bytesRead === 0

const originIn = (packet: Buffer | undefined) =>
  /^origin: *(\S+)/im.exec(packet?.toString('latin1') ?? '')?.[1]

const messageFor = ({ code }: ClientError) => {
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers: expected at most 16 KB'
  if (code === TIMED_OUT) return 'The request took too long to arrive'
  return 'Malformed HTTP'
}

function toText(error: ApiError, commonHeaders: Record<string, string>) {
  const status = statusOf(error)
  const body = JSON.stringify(toErrorBody(error))
  const headers = {
    ...commonHeaders,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`
}
