import { type ClientRequest, type IncomingMessage, request as send } from 'node:http'
import { streamPaths } from '@parley/contract'
import { underTest } from './realtime.ts'
import { RawMessages, RawSocket } from './socket.ts'
import type { User, World } from './world.ts'

type StreamTransport = 'http_stream' | 'sse'
type Node = Pick<World, 'url'>
type StreamOptions = {
  transport?: StreamTransport
  headers?: Record<string, string>
  /** Where commands are sent, if not to the node of the stream. */
  emulationNode?: Node
}

/** A bare connection without WebSocket, in JSON. It does not answer pings by itself. */
export class RawStream extends RawMessages {
  readonly closed: Promise<{ code: number; reason: string }>
  /** The headers of the answer are there. */
  readonly opened: Promise<IncomingMessage>
  readonly #request: ClientRequest
  #text = ''
  #sent: Promise<unknown> = Promise.resolve()

  /** The stream begins with these commands. */
  constructor(
    readonly node: Node,
    frame: string,
    readonly options: StreamOptions = {},
  ) {
    super()
    const { transport = 'http_stream', headers } = options
    const isPost = transport === 'http_stream'
    const query = isPost ? '' : `?cf_connect=${encodeURIComponent(frame)}`
    this.#request = send(`${node.url}${streamPaths[transport]}${query}`, {
      method: isPost ? 'POST' : 'GET',
      headers: { ...(isPost ? { 'Content-Type': 'application/json' } : {}), ...headers },
      agent: false,
    })
    this.opened = new Promise((resolve, reject) => {
      this.#request.on('response', resolve).on('error', reject)
    })
    this.closed = this.#read()
    this.closed.catch(() => {})
    this.#request.end(isPost ? frame : undefined)
  }

  /** Opened and connected. */
  static async connect(node: Node, user: Pick<User, 'minted'>, options: StreamOptions = {}) {
    const command = { id: 1, connect: { token: user.minted.wsToken } }
    const raw = new RawStream(node, JSON.stringify(command), options)
    await raw.reply(1)
    return raw
  }

  /** The session and the node that its commands are sent with. */
  get session(): { session: string; node: string } {
    const connected = this.messages.find(({ connect }) => connect)
    return { session: connected?.connect.session, node: connected?.connect.node }
  }

  /** Sends one request after the other: concurrent ones may arrive in any order. */
  send(...commands: object[]) {
    const frame = commands.map((command) => JSON.stringify(command)).join('\n')
    this.#sent = this.#sent.then(() => this.post(frame)).catch(() => {})
    return this
  }

  /** Sends a frame, and resolves to the status of the answer. */
  async post(data: string) {
    return emulate(this.options.emulationNode ?? this.node, { ...this.session, data })
  }

  /** Stops reading: what the server sends stays in buffers. */
  async pause() {
    ;(await this.opened).pause()
  }

  terminate() {
    this.#request.destroy()
  }

  async #read() {
    const response = await this.opened
    if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`)
    response.setEncoding('utf8')
    response.on('data', (text: string) => {
      this.frames.push(text)
      const lines = `${this.#text}${text}`.split('\n')
      this.#text = lines.pop() ?? ''
      const contents = lines.map((line) => line.replace(/^data: /, ''))
      this.received(...contents.filter((line) => line !== '' && line !== ':'))
    })
    await new Promise((resolve) => response.on('close', resolve).on('error', resolve))
    const { disconnect } = this.messages.find(({ push }) => push?.disconnect)?.push ?? {}
    return disconnect ?? { code: 1006, reason: '' }
  }
}

/** A bare connection of a user, over the transport under test. */
export function connectRaw(node: Node, user: Pick<User, 'minted'>): Promise<RawMessages> {
  const [transport] = underTest.transports
  if (transport === undefined || transport === 'websocket') return RawSocket.connect(node, user)
  return RawStream.connect(node, user, { transport })
}

/** Sends an emulation request, and resolves to the status of the answer. */
export async function emulate({ url }: Node, body: object | string) {
  const { status } = await fetch(`${url}${streamPaths.emulation}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return status
}
