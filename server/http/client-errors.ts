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

type Exchange = { request: IncomingMessage; response: ServerResponse }
type ClientError = Error & { code?: string; rawPacket?: Buffer }

/** What Node.js would answer in its own form, or not at all, is answered in ours on the bare socket. */
export function answerClientError(
  server: Server,
  greeting: (headers: IncomingHttpHeaders) => Record<string, string>,
) {
  const latest = new WeakMap<Duplex, Exchange>()
  server.on('request', (request, response) => latest.set(request.socket, { request, response }))

  server.on('clientError', (error: ClientError, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy()
    const origin = /^origin: *(\S+)/im.exec(error.rawPacket?.toString('latin1') ?? '')?.[1]
    const answer = () =>
      socket.end(
        toText(
          new ApiError('VALIDATION_ERROR', explain(error)),
          greeting(origin === undefined ? {} : { origin }),
        ),
      )
    const { request, response } = latest.get(socket) ?? {}
    // An answer that is still owed to an earlier, whole request goes first.
    if (request?.complete && response && !response.writableFinished) response.once('finish', answer)
    else answer()
  })
  server.on('connect', ({ headers }, socket) =>
    socket.end(toText(new ApiError('NOT_FOUND', 'No such route'), greeting(headers))),
  )
  // An expectation we do not know may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
}

const explain = ({ code }: ClientError) => {
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers: expected at most 16 KB'
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'The request took too long to arrive'
  return 'Malformed HTTP'
}

function toText(failure: ApiError, greeting: Record<string, string>) {
  const status = statusOf(failure)
  const body = JSON.stringify(toErrorBody(failure))
  const headers = {
    ...greeting,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`
}
