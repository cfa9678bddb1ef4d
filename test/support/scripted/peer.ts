import { Connection } from '@parley/client/internal/realtime/connection'
import { Tokens } from '@parley/client/internal/realtime/tokens'
import { onTestFinished } from 'vitest'
import { quiet } from './index.ts'
import { stoppedClock } from './time.ts'

type Command = Record<string, unknown> & { id: number }
type Event = { topic: string; data: unknown; rev: number | undefined }

/** A WebSocket in memory. Its server is the test: nothing is answered by itself. */
class ManualSocket {
  /** The commands of each frame that the client sent. */
  readonly frames: Command[][] = []
  isClosed = false
  onopen = () => {}
  onmessage = (_message: { data: unknown }) => {}
  onclose = (_close: { code: number; reason: string }) => {}
  onerror = () => {}

  constructor(readonly url: string) {}

  send(frame: string) {
    this.frames.push(frame.split('\n').map((line) => JSON.parse(line)))
  }

  close() {
    this.isClosed = true
  }

  get commands() {
    return this.frames.flat()
  }

  /** The last command with this request, for this topic. */
  asked(name: string, channel?: string) {
    const found = this.commands.filter((command) => {
      const request = command[name] as { channel?: string } | undefined
      return request && request.channel === channel
    })
    const command = found.at(-1)
    if (!command) throw new Error(`the client did not send ${name} ${channel ?? ''}`)
    return command
  }

  /** One frame of messages. */
  say(...messages: object[]) {
    this.onmessage({ data: messages.map((message) => JSON.stringify(message)).join('\n') })
  }

  /** The answer of the server when it accepts a topic. */
  subscribed(channel: string, result: object = {}) {
    const { id } = this.asked('subscribe', channel)
    return { id, subscribe: { recoverable: true, epoch: 'one', ...result } }
  }

  /** Opens the socket, accepts the token, and every topic that is wanted. */
  async accept(connect: object = {}) {
    this.onopen()
    await quiet()
    this.say({ id: this.asked('connect').id, connect })
    await quiet()
  }
}

type Network = { wsUrl?: string; fetch?: typeof globalThis.fetch }

/** A connection whose sockets and tokens are the test's; time stands still until put forward. */
export function connectionToTest({ wsUrl = 'ws://chat', fetch }: Network = {}) {
  const clock = stoppedClock()
  const sockets: ManualSocket[] = []
  const events: Event[] = []
  const errors: unknown[] = []
  const minted: string[] = []
  const token = (): Promise<string> => Promise.resolve(`token ${minted.length}`)
  const provider = { token, catchUp: () => Promise.resolve() }
  const tokens = new Tokens(
    async () => {
      const wsToken = await provider.token()
      minted.push(wsToken)
      const user = { id: 'me', name: 'Me', image: null, custom: {} }
      const appId = 'app'
      return { token: wsToken, wsToken, user, appId, wsUrl, expiresIn: 86_400 }
    },
    () => {},
  )
  class WebSocket extends ManualSocket {
    constructor(url: string) {
      super(url)
      sockets.push(this)
    }
  }
  const connection = new Connection({
    fetch,
    tokens,
    webSocket: WebSocket as unknown as typeof globalThis.WebSocket, // as far as it is used
    catchUp: () => provider.catchUp(),
    onConnected: () => {},
    onError: (error) => errors.push(error),
  })
  onTestFinished(() => connection.disconnect())
  const socket = (): ManualSocket => {
    const last = sockets.at(-1)
    if (!last) throw new Error('the client has opened no socket')
    return last
  }

  return {
    connection,
    clock,
    sockets,
    socket,
    events,
    errors,
    minted,
    provider,
    status: () => connection.state.getSnapshot().status,
    /** The newest socket, after the client had time to open it. */
    opened: async () => {
      void connection.connect().catch(() => {})
      await quiet()
      return socket()
    },
    /** Another socket, after the pause before it. */
    reopened: async () => {
      const before = sockets.length
      for (let tries = 0; sockets.length === before && tries < 100; tries++)
        await clock.forward(500)
      return socket()
    },
    /** Subscribes, and notes what happens to the topic. */
    subscribe: (topic: string, since?: { epoch: string; offset: number }) => {
      const story: string[] = []
      const unsubscribe = connection.subscribe(topic, {
        since,
        onSubscribed: ({ isRecovered, position: { epoch, offset } }) => {
          story.push(`${isRecovered ? 'recovered' : 'from'} ${epoch} ${offset}`)
        },
        onEvent: (data, rev) => {
          story.push(`event ${data}`)
          events.push({ topic, data, rev })
        },
        onAccessLost: () => story.push('lost'),
      })
      return { story, unsubscribe }
    },
  }
}

/** A connection whose topics are subscribed. */
export async function liveConnection(...topics: string[]) {
  const peer = connectionToTest()
  const subscribed = topics.map((topic) => peer.subscribe(topic))
  const socket = await peer.opened()
  await socket.accept()
  socket.say(...topics.map((topic) => socket.subscribed(topic)))
  await quiet()
  return { ...peer, first: socket, stories: subscribed.map(({ story }) => story), subscribed }
}

export const publication = (channel: string, data: unknown, offset?: number) => ({
  push: { channel, pub: { data, offset } },
})
