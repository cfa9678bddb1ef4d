import { isUtf8 } from 'node:buffer'
import { limits } from '@parley/contract'
import fc from 'fast-check'
import { expect } from 'vitest'
import { WebSocket } from 'ws'
import { socketCodes } from './frames.ts'
import { broken, poison } from './requests.ts'
import { textOfCodePoints } from './texts.ts'
import { expectOneOf, expectStatus } from './wire.ts'

/** With `times`, the text is repeated as a batch. */
type Frame = { data: string | Buffer; isBinary: boolean; times?: number }
/** The frames of a hostile client over a tRPC socket; `first`: the token, or a replacement. */
export type TrpcFrames = {
  query: string
  host: string | undefined
  first: 'token' | Frame
  frames: Frame[]
}
type Target = { url: string; wsToken: string; topics: string[] }

const often = <T>(usual: fc.Arbitrary<T>, ...others: fc.Arbitrary<T>[]) =>
  fc.oneof({ weight: 8 * others.length, arbitrary: usual }, ...others)
const messageFor = (topics: string[]) => {
  const topic = often(fc.constantFrom(...topics), fc.constantFrom('', 'chat:', 'user:x:y'))
  const since = often<unknown>(fc.nat(50), fc.integer(), fc.string())
  const lastEventId = often<unknown>(fc.nat(50).map(String), fc.string(), fc.integer())
  const input = fc.record({ topic, since, lastEventId }, { requiredKeys: ['topic'] })
  const paths = ['', 'events', 'messages.send', 'constructor', '__proto__.x', 'events.topic,']
  const path = often(fc.constant('events.topic'), fc.constantFrom(...paths))
  const methods = ['subscription.stop', 'query', 'mutation', 'connectionParams', 'toString']
  return fc.record(
    {
      id: often<unknown>(fc.nat(10), fc.string(), fc.constant(null)),
      jsonrpc: often(fc.constant('2.0'), fc.constant('1.0')),
      method: fc.oneof(fc.constant('subscription'), fc.constantFrom(...methods)),
      params: fc.record({ path, input, lastEventId }, { requiredKeys: ['path', 'input'] }),
      data: fc.record({ token: fc.string() }),
    },
    { requiredKeys: ['id', 'method', 'params'] },
  )
}

/** A few frames of valid, damaged and meaningless messages, alone and in batches, or any bytes. */
export function trpcFramesFor(topics: string[]): fc.Arbitrary<TrpcFrames> {
  const valid: fc.Arbitrary<Record<string, unknown>> = messageFor(topics)
  const damaged = fc
    .record({ args: valid, choice: fc.nat(), poison })
    .map(({ args, ...damage }): unknown => broken(args, damage))
  const message = fc.oneof(
    { weight: 5, arbitrary: valid },
    { weight: 3, arbitrary: damaged },
    { weight: 1, arbitrary: poison },
  )
  const batch = fc.array(message, { maxLength: 5 })
  const text = fc.oneof(
    { weight: 4, arbitrary: message.map(toText) },
    { weight: 4, arbitrary: batch.map(toText) },
    { weight: 1, arbitrary: fc.record({ text: batch.map(toText), at: fc.nat() }).map(cut) },
    { weight: 1, arbitrary: textOfCodePoints() },
  )
  const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array))
  const single = fc.record({
    data: fc.oneof({ weight: 20, arbitrary: text }, { weight: 1, arbitrary: bytes }),
    isBinary: fc.nat(20).map((drawn) => drawn === 0),
  })
  const repeated = fc.record({
    data: message.map(toText),
    isBinary: fc.constant(false),
    times: fc.constantFrom(60, 999, 1_000, 1_001),
  })
  const frame: fc.Arbitrary<Frame> = fc.oneof({ weight: 20, arbitrary: single }, repeated)
  return fc.record({
    query: fc.oneof(
      { weight: 6, arbitrary: fc.constant('?connectionParams=1') },
      fc.constantFrom('', '?connectionParams=2', '?connectionParams[]=1', '?%', '?a=%ff&&='),
    ),
    host: fc.oneof(
      { weight: 9, arbitrary: fc.constant(undefined) },
      fc.constantFrom('', '[', 'x:99999', '%', 'a@b', 'x/y', '\u0085'),
    ),
    first: fc.oneof({ weight: 3, arbitrary: fc.constant('token' as const) }, frame),
    frames: fc.array(frame, { minLength: 1, maxLength: 4 }),
  })
}

const bytesOf = ({ data, times }: Frame) =>
  Buffer.from(times === undefined ? data : `[${Array(times).fill(data).join()}]`)
const toText = (value: unknown) => JSON.stringify(value) ?? ''
const cut = ({ text, at }: { text: string; at: number }) => text.slice(0, at % (text.length + 1))

/** The answer to it says that all before it was handled. */
const LAST_ID = 2_000_000_000
const last = JSON.stringify({ id: LAST_ID, method: 'query', params: { path: 'none' } })
/** Without a user one more message is answered; the next closes the socket. */
const LASTS = 3

/**
 * Sends the frames over a socket of their own: the server answers, or closes with a reason. Returns
 * how many they are.
 */
export async function withstandsTrpcFrames({ url, wsToken }: Target, hostile: TrpcFrames) {
  const { query, host, first, frames } = hostile
  const headers = host === undefined ? {} : { host }
  const socket = new WebSocket(`${url.replace('http', 'ws')}/trpc${query}`, { headers })
  const received: string[] = []
  const refused = new Promise<number>((resolve) =>
    socket.on('unexpected-response', (_, { statusCode = 0 }) => resolve(statusCode)),
  )
  const closed = new Promise<number>((resolve) => socket.on('close', resolve))
  const answered = new Promise<void>((resolve) => {
    socket.on('message', (data) => {
      received.push(String(data))
      if (String(data).includes(`"id":${LAST_ID}`)) resolve()
    })
  })
  const opened = new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject))
  const status = await Promise.race([opened, refused])
  if (typeof status === 'number') {
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    socket.terminate()
    return 1
  }
  const token = { data: JSON.stringify({ method: 'connectionParams', data: { token: wsToken } }) }
  const sent = [first === 'token' ? { ...token, isBinary: false } : first, ...frames]
  for (const frame of sent) socket.send(bytesOf(frame), { binary: frame.isBinary })
  for (let count = 0; count < LASTS; count++) socket.send(last)
  const end = await Promise.race([closed, answered])
  socket.terminate()
  const isReset = end === 1006 && sent.some(isNoFrame)
  if (end !== undefined && !isReset) expectOneOf(socketCodes, end)
  for (const text of received) expectReply(text)
  return frames.length + 1
}

/** `ws` reads nothing after these, not even to the end: the connection may be reset. */
function isNoFrame(frame: Frame) {
  const bytes = bytesOf(frame)
  return bytes.length > limits.realtime.frameBytes || !(frame.isBinary || isUtf8(bytes))
}

const RESULTS = ['started', 'data', 'stopped']
/** Replies have a result, or an error of the one form that is no fault of the server. */
function expectReply(text: string) {
  if (text === 'PING' || text === 'PONG') return
  const { result, error } = JSON.parse(text)
  if (result !== undefined) return expectOneOf(RESULTS, result.type)
  expectStatus(error.data, text)
  if (typeof error.message !== 'string') expect(error.message).toEqual(expect.any(String))
}
