import { once } from 'node:events'
import { connect } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { type ErrorCode, errorStatus } from '@parley/contract'
import { expect } from 'vitest'

export type Answer = { status: number; headers: Record<string, string>; body: string }

/** Writes bytes to a bare socket; answers the responses received until the server closed it. */
export async function exchange(url: string, ...parts: (string | Buffer)[]): Promise<Answer[]> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const received: Buffer[] = []
  socket.on('data', (data) => received.push(data))
  const buffers = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))
  socket.write(Buffer.concat(buffers))
  await once(socket, 'close')
  return parseAnswers(Buffer.concat(received))
}

/** One request with a body of exact bytes. */
export const post = async (
  url: string,
  path: string,
  {
    headers = {},
    body = '',
    method = 'POST',
  }: { headers?: Record<string, string>; body?: string | Buffer; method?: string },
) => {
  const lines = Object.entries({
    Host: 'parley',
    Connection: 'close',
    'Content-Length': String(Buffer.byteLength(body)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  const [answer, ...others] = await exchange(
    url,
    `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`,
    body,
  )
  expect(others).toEqual([])
  if (!answer) throw new Error(`no answer to ${method} ${path}`)
  return answer
}

/**
 * Begins a request whose body is held back, and resolves once the server has begun to serve it.
 * `finish` sends the body, and answers the last response until the server closed the connection.
 */
export async function beginPost(
  url: string,
  path: string,
  { headers, body }: { headers: Record<string, string>; body: string },
) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const received: Buffer[] = []
  socket.on('data', (data) => received.push(data))
  const all = {
    ...{ Host: 'parley', Expect: '100-continue', 'Content-Length': String(body.length) },
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  await once(socket, 'data')
  const finish = async () => {
    socket.write(body)
    await once(socket, 'close')
    return parseAnswers(Buffer.concat(received)).at(-1)
  }
  return { finish }
}

function parseAnswers(bytes: Buffer): Answer[] {
  if (bytes.length === 0) return []
  const end = bytes.indexOf('\r\n\r\n')
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  )
  const status = Number(first.split(' ')[1])
  const rest = bytes.subarray(end + 4)
  if (headers['transfer-encoding'] === 'chunked')
    return [{ status, headers, body: joinChunks(rest).toString() }]
  const length = status === 100 ? 0 : Number(headers['content-length'] ?? 0)
  const isWithoutBody = status === 204 || rest.length < length
  return [
    { status, headers, body: rest.subarray(0, isWithoutBody ? 0 : length).toString() },
    ...parseAnswers(rest.subarray(isWithoutBody ? 0 : length)),
  ]
}

function joinChunks(bytes: Buffer): Buffer {
  const end = bytes.indexOf('\r\n')
  const length = Number.parseInt(bytes.subarray(0, end).toString(), 16)
  return length === 0
    ? Buffer.alloc(0)
    : Buffer.concat([
        bytes.subarray(end + 2, end + 2 + length),
        joinChunks(bytes.subarray(end + 4 + length)),
      ])
}

/** Expects an error with this code in the one form of errors; answers its message. */
export function expectError(answer: Answer, code: ErrorCode): string {
  const { error, ...others } = JSON.parse(answer.body)
  // Comparing with `expect` takes many times longer: it says how they differ.
  if (!isRefusal(answer, code) || !isInForm(error, code) || Object.keys(others).length > 0)
    expectRefusal(answer, code)
  return error.message
}

const isRefusal = ({ status, headers }: Answer, code: ErrorCode) =>
  status === errorStatus[code] &&
  headers['content-type'] === 'application/json; charset=utf-8' &&
  /^[\w.-]{1,100}$/.test(headers['x-request-id'] ?? '')
const isInForm = (error: object, code: ErrorCode) =>
  isDeepStrictEqual({ ...error, message: '' }, { code, message: '' }) &&
  'message' in error &&
  typeof error.message === 'string' &&
  /./.test(error.message)

function expectRefusal({ status, headers, body }: Answer, code: ErrorCode) {
  const parsed = JSON.parse(body)
  expect({ status, code: parsed.error?.code, body }).toEqual({
    status: errorStatus[code],
    code,
    body,
  })
  expect(parsed).toEqual({ error: { message: expect.stringMatching(/./), code } })
  expect(headers['content-type']).toBe('application/json; charset=utf-8')
  expect(headers['x-request-id']).toMatch(/^[\w.-]{1,100}$/)
}
