import { closings } from '@parley/server/realtime/protocol/codes'
import fc from 'fast-check'
import { WebSocket } from 'ws'
import { wsUrlOf } from '../realtime.ts'
import { broken, poison } from './requests.ts'
import { textOfCodePoints } from './texts.ts'
import { expectNoFault, expectOneOf } from './wire.ts'

/** The frames that a hostile client sends over a socket, and their encoding. */
export type Frames = { encoding: 'json' | 'protobuf'; isConnected: boolean; frames: Buffer[] }
type Target = { url: string; wsToken: string; topics: string[] }

/** The codes that may close a socket: all but that of a server error. */
export const expectedCodes = Object.values(closings)
  .filter(({ code }) => code !== closings.serverError.code)
  .map(({ code }): number => code)
/** The codes with which `ws` itself closes, after frames that no WebSocket may send. */
const PROTOCOL_CODES = [1002, 1003, 1007, 1009]
export const socketCodes = [...expectedCodes, ...PROTOCOL_CODES]
/** The reply to it says that all before it was handled. */
export const LAST = { id: 2_000_000_000, unsubscribe: { channel: 'none' } }

/** A few frames of valid, damaged and meaningless commands, or bytes that are no commands. */
export function framesFor(topics: string[]): fc.Arbitrary<Frames> {
  const line = fc.oneof(
    { weight: 4, arbitrary: commandFor(topics).map((command) => JSON.stringify(command)) },
    {
      weight: 3,
      arbitrary: fc
        .record({ args: commandFor(topics), choice: fc.nat(), poison })
        .map(({ args, ...damage }) => JSON.stringify(broken(args, damage))),
    },
    { weight: 1, arbitrary: poison.map((value) => JSON.stringify(value) ?? '') },
    { weight: 1, arbitrary: textOfCodePoints() },
  )
  const text = fc.array(line, { maxLength: 5 }).map((lines) => Buffer.from(lines.join('\n')))
  const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array))
  return fc.oneof(
    { weight: 4, arbitrary: framesOf('json', fc.oneof({ weight: 5, arbitrary: text }, bytes)) },
    { weight: 1, arbitrary: framesOf('protobuf', fc.oneof(bytes, text)) },
  )
}

const framesOf = (encoding: Frames['encoding'], frame: fc.Arbitrary<Buffer>) =>
  fc.record({
    encoding: fc.constant(encoding),
    // The client library speaks Protobuf; bytes of its own making are sent by strangers.
    isConnected: encoding === 'json' ? fc.boolean() : fc.constant(false),
    frames: fc.array(frame, { minLength: 1, maxLength: 3 }),
  })

const names = [
  ...['connect', 'subscribe', 'unsubscribe', 'publish', 'presence', 'presence_stats'],
  ...['history', 'ping', 'send', 'rpc', 'refresh', 'sub_refresh', 'toString', '__proto__'],
]

const commandFor = (topics: string[]) => {
  const channel = fc.oneof(fc.constantFrom(...topics, '', 'chat:', 'user:x:y'), fc.string())
  const request = fc.record(
    {
      channel,
      token: fc.string(),
      recover: fc.boolean(),
      epoch: fc.string(),
      offset: fc.nat(),
      flag: fc.nat(3),
      limit: fc.integer({ min: -1, max: 100 }),
      reverse: fc.boolean(),
      since: fc.record({ offset: fc.nat(), epoch: fc.string() }),
      data: fc.jsonValue({ maxDepth: 2 }),
    },
    { requiredKeys: ['channel'] },
  )
  return fc
    .record({ id: fc.integer({ min: 1, max: 1_000 }), name: fc.constantFrom(...names), request })
    .map(({ id, name, request }): Record<string, unknown> => ({ id, [name]: request }))
}

/**
 * Sends the frames over a socket of their own: the server answers, or closes with a reason. Returns
 * how many they are.
 */
export async function withstandsFrames(target: Target, { encoding, isConnected, frames }: Frames) {
  const socket = new WebSocket(
    wsUrlOf(target),
    encoding === 'protobuf' ? ['centrifuge-protobuf'] : [],
  )
  const received: string[] = []
  const closed = new Promise<number>((resolve) => socket.on('close', resolve))
  const answered = new Promise<void>((resolve) => {
    socket.on('message', (data) => {
      received.push(String(data))
      if (String(data).includes(`"id":${LAST.id}`)) resolve()
    })
  })
  await new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject))
  const isBinary = encoding === 'protobuf'
  const send = (data: string | Buffer) => socket.send(data, { binary: isBinary })
  if (isConnected) send(JSON.stringify({ id: 1, connect: { token: target.wsToken } }))
  for (const frame of frames) send(frame)
  // Without a user, or in Protobuf, it is malformed, and closes the socket.
  send(JSON.stringify(LAST))
  const end = await Promise.race([closed, answered])
  socket.terminate()
  if (end !== undefined) expectOneOf(socketCodes, end)
  expectNoFault(received.join())
  return frames.length
}
