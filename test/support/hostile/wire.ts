import { Agent, request } from 'node:http'
import type { Credentials } from '@parley/client/api'
import { type ErrorCode, errorStatus, type Operation } from '@parley/contract'
import { expect } from 'vitest'
import { type Answer, expectError } from '../raw.ts'

const agent = new Agent({ keepAlive: true })
type Message = {
  method: string
  path: string
  headers?: Record<string, string>
  body?: string | Buffer | undefined
}

/** A request as it is, without a client that puts it right. */
export const ask = (url: string, { method, path, headers = {}, body }: Message) =>
  new Promise<Answer>((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const length: Record<string, string> =
      body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }
    const sent = request(
      { hostname, port, agent, method, path, headers: { ...length, ...headers } },
      (response) => {
        const parts: Buffer[] = []
        response.on('data', (part) => parts.push(part))
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers as Record<string, string>,
            body: Buffer.concat(parts).toString(),
          }),
        )
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })

/** The caller; a backend may act as a user. */
export type Caller = Credentials & { actingAs?: string }

export const headersOf = ({
  token,
  apiKey,
  adminKey,
  actingAs,
}: Caller): Record<string, string> => ({
  ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
  ...(apiKey === undefined ? {} : { 'X-API-Key': apiKey }),
  ...(adminKey === undefined ? {} : { 'X-Admin-Key': adminKey }),
  ...(actingAs === undefined ? {} : { 'X-User-Id': actingAs }),
})
export const json = { 'Content-Type': 'application/json' }
export const hasBody = ({ method }: Operation) => method !== 'GET' && method !== 'DELETE'

/** Texts that mean something to SQL, to LIKE or to a replacement. */
export const metacharacters = ["'; drop table users; --", '%_\\', '$1']

export const toText = (value: unknown) =>
  typeof value === 'object' ? JSON.stringify(value) : String(value)

/** Text as a part of a path or a query, whatever it is. */
export const percent = (text: string) =>
  [...Buffer.from(text)]
    .map((byte) =>
      /[\w.~-]/.test(String.fromCharCode(byte))
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).padStart(2, '0')}`,
    )
    .join('')

/** Compares before it calls `expect`, which is much slower, for 100,000 answers and frames. */
export function expectOneOf<Each>(allowed: readonly Each[], given: Each) {
  if (!allowed.includes(given)) expect(allowed).toContain(given)
}

const FAULT = 'internal server error'
/** Expects that a text sent to a socket does not report a failure of the server. */
export function expectNoFault(text: string) {
  if (text.includes(FAULT)) expect(text).not.toContain(FAULT)
}

/** An error in a tRPC answer has the status of its code, and is no fault of the server. */
export function expectStatus({ code, httpStatus }: TrpcError, answer: string) {
  const isOfCode = Object.hasOwn(errorStatus, code) && errorStatus[code] === httpStatus
  if (isOfCode && httpStatus < 500) return
  expect(errorStatus, answer).toHaveProperty(code, httpStatus)
  expect(httpStatus, answer).toBeLessThan(500)
}
type TrpcError = { code: ErrorCode; httpStatus: number }

/** An answer that is no fault of the server; a refusal has the one form of errors. */
export function expectForm(answer: Answer) {
  // Compares before it calls `expect`, which is much slower, for 100,000 answers.
  if (answer.status >= 500) expect(answer.status, answer.body).toBeLessThan(500)
  if (answer.status < 400) return undefined
  const { error } = JSON.parse(answer.body)
  if (!Object.hasOwn(errorStatus, error?.code))
    expect(Object.keys(errorStatus)).toContain(error?.code)
  return { code: error.code as ErrorCode, message: expectError(answer, error.code) }
}
