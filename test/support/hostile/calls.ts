import { ErrorBody } from '@parley/contract'
import fc from 'fast-check'
import { expect } from 'vitest'
import { operations } from '../validated.ts'
import { poison } from './requests.ts'
import { ask, expectForm, expectStatus, json, percent } from './wire.ts'

/** Some calls in one tRPC request: their names, and the input of each. */
export type Batch = { names: string[]; inputs: unknown[]; isRead: boolean }

const ids = operations.map(([id]) => id)
const name = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...ids) },
  { weight: 1, arbitrary: fc.constantFrom('', 'a', 'messages', 'constructor', '__proto__.x') },
)

export const batches: fc.Arbitrary<Batch> = fc.record({
  names: fc.array(name, { minLength: 1, maxLength: 25 }),
  inputs: fc.array(fc.oneof(poison, fc.jsonValue({ maxDepth: 2 })), { maxLength: 25 }),
  isRead: fc.boolean(),
})

type Target = { url: string; headers: Record<string, string> }

/** Each call has an answer of its own, or the request is refused as a whole. */
export async function withstandsBatch({ url, headers }: Target, { names, inputs, isRead }: Batch) {
  const path = `/trpc/${names.map(percent).join(',')}?batch=1`
  const input = JSON.stringify({ ...inputs })
  const answer = await (isRead
    ? ask(url, { method: 'GET', path: `${path}&input=${percent(input)}`, headers })
    : ask(url, { method: 'POST', path, headers: { ...headers, ...json }, body: input }))
  if (answer.status >= 500) expect(answer.status, answer.body).toBeLessThan(500)
  const answers = [JSON.parse(answer.body)].flat()
  for (const { result, error } of answers) {
    if (result !== undefined) continue
    if (error?.data === undefined) return void ErrorBody.parse({ error })
    expectStatus(error.data, answer.body)
  }
}

/** Headers that mean something to the server or to what stands before it. */
const known = [
  ...['authorization', 'x-api-key', 'x-admin-key', 'x-user-id', 'content-type', 'accept'],
  ...['accept-encoding'],
  ...['cookie', 'origin', 'host', 'referer', 'range', 'if-none-match', 'x-request-id'],
  ...['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'forwarded', 'user-agent'],
  ...['access-control-request-method', 'access-control-request-headers', 'x-http-method-override'],
  ...['sec-websocket-key', 'sec-websocket-version', 'sec-websocket-protocol'],
]
const token = fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/).filter((text) => !isFraming(text))
const value = fc.oneof(
  fc.constantFrom(
    ...['', '*', 'null', 'Bearer', 'Bearer a.b.c', 'Bearer  x', 'Basic YTpi', 'undefined'],
    ...['application/json; charset=utf-16', 'text/plain', 'multipart/form-data', 'application/'],
    ...['127.0.0.1, 10.0.0.1', 'http://x', 'bytes=0-1', 'a'.repeat(3_000), ','.repeat(500)],
  ),
  fc.stringMatching(/^[\x20-\x7e]{0,80}$/),
  fc.stringMatching(/^[\x80-\xff]{0,40}$/),
)
/** Whether a header frames the request or changes its connection. Those are left out. */
const isFraming = (text: string) =>
  /^(connection|content-length|transfer-encoding|expect|upgrade|te|trailer|keep-alive)$/.test(text)

export type Headed = { headers: Record<string, string>; index: number }
export const headed: fc.Arbitrary<Headed> = fc.record({
  headers: fc.dictionary(
    fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...known) }, token),
    value,
    {
      maxKeys: 8,
    },
  ),
  index: fc.nat(),
})

/** A request to any operation with hostile headers; its path and its body are plain. */
export async function withstandsHeaders(url: string, { headers, index }: Headed) {
  const [, op] = operations[index % operations.length] ?? []
  if (!op) return
  const path = op.path.replace(/\{\w+\}/g, 'x')
  const hasBody = op.method !== 'GET' && op.method !== 'DELETE'
  expectForm(
    await ask(url, {
      method: op.method,
      path,
      headers: { ...(hasBody ? json : {}), ...headers },
      body: hasBody ? '{}' : undefined,
    }),
  )
}
