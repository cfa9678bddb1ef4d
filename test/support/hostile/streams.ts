import { type IncomingMessage, request } from 'node:http'
import { streamPaths } from '@parley/contract'
import fc from 'fast-check'
import { expectedCodes, type Frames, framesFor, LAST } from './frames.ts'
import { broken, poison } from './requests.ts'
import { ask, expectForm, expectNoFault, expectOneOf, percent } from './wire.ts'

type Damage = { choice: number; poison: unknown }
/** A stream that begins with the first frame; each other one is sent in a request of its own. */
export type Streamed = Frames & {
  transport: 'http_stream' | 'sse'
  type: string
  damages: (Damage | null)[]
}
type Target = { url: string; wsToken: string }

const PROTOBUF = 'application/octet-stream'
const last = JSON.stringify(LAST)
const types = ['application/json', 'application/json', PROTOBUF, 'text/plain', '', 'a/b; charset=x']

export const streamsFor = (topics: string[]): fc.Arbitrary<Streamed> =>
  fc
    .record({
      frames: framesFor(topics),
      transport: fc.constantFrom('http_stream' as const, 'sse' as const),
      type: fc.constantFrom(...types),
      damages: fc.array(fc.option(fc.record({ choice: fc.nat(), poison })), { maxLength: 4 }),
    })
    .map(({ frames, ...others }) => ({ ...frames, ...others }))

/** The answer to a stream: the text so far, and its end. */
class Answered {
  text = ''
  readonly ended: Promise<void>
  #onText = () => {}

  constructor(readonly response: IncomingMessage) {
    response.on('data', (data) => {
      this.text += data
      this.#onText()
    })
    this.ended = new Promise((resolve) => {
      response.on('close', resolve).on('error', () => resolve())
    })
  }

  /** Resolves once the text matches, or there will be no more. */
  async until(pattern: RegExp) {
    const matched = new Promise<void>((resolve) => {
      this.#onText = () => {
        if (pattern.test(this.text)) resolve()
      }
      this.#onText()
    })
    await Promise.race([matched, this.ended])
    return pattern.exec(this.text)
  }
}

/**
 * Sends the frames over a stream of their own: the server answers, or ends the stream with a
 * reason. Returns how many they are.
 */
export async function withstandsStream({ url, wsToken }: Target, streamed: Streamed) {
  const { frames, isConnected } = streamed
  const connect = JSON.stringify({ id: 1, connect: { token: wsToken } })
  const [first = Buffer.alloc(0)] = frames
  const body = isConnected ? Buffer.from(connect) : Buffer.concat([first, Buffer.from(`\n${last}`)])
  const answered = await open(url, streamed, body)
  const { response } = answered
  try {
    if (response.statusCode !== 200) {
      await answered.ended
      const headers = response.headers as Record<string, string> // ours are strings
      expectForm({ status: response.statusCode ?? 0, headers, body: answered.text })
      return 1
    }
    const found = isConnected && (await answered.until(/"node":"([^"]+)","session":"([^"]+)"/))
    const [, node = 'x', session = 'x'] = found || []
    for (const [index, frame] of frames.entries()) {
      const envelope = { session, node, data: frame.toString() }
      const damage = streamed.damages[index]
      const sent = damage ? broken(envelope, damage) : envelope
      await emulate(url, 'application/json', JSON.stringify(sent))
      if (damage) await emulate(url, streamed.type, frame)
      if (damage) await emulate(url, PROTOBUF, binary({ ...envelope, data: frame }))
    }
    await emulate(url, 'application/json', JSON.stringify({ session, node, data: last }))
    await (isConnected ? answered.until(new RegExp(`"id":${LAST.id}`)) : answered.ended)
    for (const [, code] of answered.text.matchAll(/"disconnect":\{"code":(\d+)/g))
      expectOneOf(expectedCodes, Number(code))
    expectNoFault(answered.text)
    return frames.length + 1
  } finally {
    response.destroy()
  }
}

const open = (url: string, { transport, encoding, type }: Streamed, body: Buffer) =>
  new Promise<Answered>((resolve, reject) => {
    const isPost = transport === 'http_stream'
    const query = isPost ? '' : `?cf_connect=${percent(body.toString('latin1'))}`
    const contentType = encoding === 'protobuf' ? PROTOBUF : type
    request(`${url}${streamPaths[transport]}${query}`, {
      method: isPost ? 'POST' : 'GET',
      headers: isPost ? { 'Content-Type': contentType } : {},
      agent: false,
    })
      .on('response', (response) => resolve(new Answered(response)))
      .on('error', reject)
      .end(isPost ? body : undefined)
  })

/** An emulation request in Protobuf. */
function binary({ session, node, data }: { session: string; node: string; data: Buffer }) {
  const field = (number: number, content: string | Buffer) => {
    const bytes = Buffer.from(content)
    const [low, high] = [(bytes.length % 128) | 128, bytes.length >> 7]
    return Buffer.concat([Buffer.from([number * 8 + 2, low, high]), bytes])
  }
  return Buffer.concat([field(1, node), field(2, session), field(3, data)])
}

/** It is accepted, or refused in the form of errors. */
async function emulate(url: string, type: string, body: string | Buffer) {
  const headers = { 'Content-Type': type }
  expectForm(await ask(url, { method: 'POST', path: streamPaths.emulation, headers, body }))
}
