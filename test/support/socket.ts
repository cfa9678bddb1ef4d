import { afterEach } from 'vitest'
import { WebSocket } from 'ws'
import { wsUrlOf } from './realtime.ts'
import type { User, World } from './world.ts'

// biome-ignore lint/suspicious/noExplicitAny: what came over the wire, for tests to look into
type Message = Record<string, any>

/** The messages that a bare connection has received, and ways to wait for them. */
export abstract class RawMessages {
  readonly messages: Message[] = []
  /** The text that they came in. */
  readonly frames: string[] = []
  readonly #waiting = new Set<() => void>()
  abstract readonly closed: Promise<{ code: number; reason: string }>
  /** Sends commands of one frame. */
  abstract send(...commands: object[]): unknown
  abstract terminate(): void

  protected received(...lines: string[]) {
    this.messages.push(...lines.map((line) => JSON.parse(line)))
    for (const check of this.#waiting) check()
  }

  async until(find: (message: Message) => boolean, milliseconds = 60_000): Promise<Message> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        const last = JSON.stringify(this.messages.slice(-10))
        settle(() => reject(new Error(`received only ${last}`)))
      }
      const timer = setTimeout(giveUp, milliseconds)
      const settle = (end: () => void) => {
        clearTimeout(timer)
        this.#waiting.delete(check)
        end()
      }
      const check = () => {
        const found = this.messages.find(find)
        if (found) settle(() => resolve(found))
      }
      this.#waiting.add(check)
      check()
      void this.closed.then(({ code }) => settle(() => reject(new Error(`closed with ${code}`))))
    })
  }

  reply(id: number) {
    return this.until((message) => message.id === id)
  }

  async ask(command: { id: number } & Record<string, unknown>) {
    this.send(command)
    return this.reply(command.id)
  }

  pushed(find: (push: Message) => boolean) {
    return this.until(({ push }) => push !== undefined && find(push))
  }

  ping(count = 1) {
    return this.until(
      () => this.messages.filter((message) => Object.keys(message).length === 0).length >= count,
    )
  }
}

/** A bare socket for the JSON framing or any other bytes. It does not answer pings by itself. */
export class RawSocket extends RawMessages {
  readonly closed: Promise<{ code: number; reason: string }>

  private constructor(readonly socket: WebSocket) {
    super()
    socket.on('message', (data) => {
      this.frames.push(String(data))
      this.received(...String(data).split('\n'))
    })
    socket.on('error', () => {})
    this.closed = new Promise((resolve) =>
      socket.on('close', (code, reason) => resolve({ code, reason: String(reason) })),
    )
  }

  static async open(
    world: Pick<World, 'url'>,
    {
      protocols = [],
      origin,
      query = '',
    }: { protocols?: string[]; origin?: string; query?: string } = {},
  ) {
    const socket = new WebSocket(
      `${wsUrlOf(world)}${query}`,
      protocols,
      origin === undefined ? {} : { origin },
    )
    const raw = new RawSocket(socket)
    await new Promise((resolve, reject) => {
      socket.on('open', resolve)
      socket.on('error', reject)
      socket.on('unexpected-response', (_, response) =>
        reject(new Error(`answered ${response.statusCode}`)),
      )
    })
    return raw
  }

  /** Opened and connected. */
  static async connect(world: Pick<World, 'url'>, user: Pick<User, 'minted'>) {
    const raw = await RawSocket.open(world)
    raw.send({ id: 1, connect: { token: user.minted.wsToken } })
    await raw.reply(1)
    return raw
  }

  terminate() {
    this.socket.terminate()
  }

  send(...commands: object[]) {
    this.socket.send(commands.map((command) => JSON.stringify(command)).join('\n'))
    return this
  }
}

export const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds

/** Terminates after each test the connections that it was given. */
export function useSockets() {
  const open: RawMessages[] = []
  afterEach(() => {
    for (const raw of open.splice(0)) raw.terminate()
  })
  return async <Raw extends RawMessages>(opening: Promise<Raw>) => {
    const raw = await opening
    open.push(raw)
    return raw
  }
}
