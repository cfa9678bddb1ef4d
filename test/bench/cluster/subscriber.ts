import { WebSocket } from 'ws'
import type { Client } from '../connect/clients.ts'
import { pause } from '../server.ts'

/** The counts of all clients together since they were opened. */
export type Seen = {
  /** How many are subscribed to all of their topics. */
  open: number
  /** How many connections were lost. */
  cuts: number
  /** The durable events of channels, each once a client, live or recovered. */
  events: number
  /** Durable events that came twice, or that were left out. */
  twice: number
  gaps: number
  /** Events that could not be recovered: the client had to load the state again. */
  reloaded: number
  /** Attempts to open that were refused, and those without a timely answer. */
  refused: number
  unanswered: number
}
export const nothingSeen = (): Seen => ({
  open: 0,
  cuts: 0,
  events: 0,
  twice: 0,
  gaps: 0,
  reloaded: 0,
  refused: 0,
  unanswered: 0,
})

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 4_000
/** How long opening may take. */
const OPEN_MS = 60_000

type Position = { offset: number; epoch: string }
type Publication = { offset?: number }
type Message = {
  id?: number
  error?: object
  push?: { channel: string; pub?: Publication }
  subscribe?: Partial<Position> & { recovered?: true; publications?: Publication[] }
}

/**
 * A client that behaves as the SDK does: it connects again by itself, after growing pauses and to
 * the next node, and recovers what it missed.
 */
export function createSubscriber(
  { token, topics }: Client,
  { urlOf, seen }: { urlOf: (attempt: number) => string; seen: Seen },
) {
  const positions = new Map<string, Position>()
  let socket: WebSocket | undefined
  let attempt = 0
  let isStopped = false

  const takePublication = (topic: string, { offset }: Publication) => {
    const position = positions.get(topic)
    if (offset === undefined || !position) return // ephemeral
    if (offset <= position.offset) {
      seen.twice += 1
      return
    }
    seen.gaps += offset - position.offset - 1
    position.offset = offset
    if (topic.startsWith('chat:')) seen.events += 1
  }

  const takeSubscribed = (topic: string, reply: NonNullable<Message['subscribe']>) => {
    const { offset = 0, epoch = '', recovered, publications = [] } = reply
    const known = positions.get(topic)
    if (known && recovered) {
      for (const publication of publications) takePublication(topic, publication)
      return
    }
    if (known) seen.reloaded += offset - known.offset
    positions.set(topic, { offset, epoch })
  }

  const commands = () => [
    { id: 1, connect: { token } },
    ...topics.map((channel, index) => {
      const position = positions.get(channel)
      const since = position && { recover: true, ...position }
      return { id: index + 2, subscribe: { channel, ...since } }
    }),
  ]

  /** Resolves once every topic is subscribed to, and rejects if that fails. */
  const connect = () =>
    new Promise<void>((resolve, reject) => {
      const opened = new WebSocket(urlOf(attempt), { perMessageDeflate: false })
      socket = opened
      let waiting = topics.length + 1
      const late = setTimeout(() => {
        seen.unanswered += 1
        opened.terminate()
      }, OPEN_MS)
      const take = ({ id = 0, error, push, subscribe }: Message) => {
        if (push) return push.pub && takePublication(push.channel, push.pub)
        if (error) {
          seen.refused += 1
          return opened.terminate()
        }
        if (id === 0) return // a ping
        if (subscribe) takeSubscribed(topics[id - 2] ?? '', subscribe)
        waiting -= 1
        if (waiting > 0) return
        clearTimeout(late)
        seen.open += 1
        resolve()
      }
      opened.on('error', () => {}) // It closes.
      opened.on('close', () => {
        clearTimeout(late)
        if (waiting > 0) return reject(new Error('not connected'))
        seen.open -= 1
        seen.cuts += 1
        attempt += 1
        void comeBack()
      })
      opened.on('open', () =>
        opened.send(
          commands()
            .map((command) => JSON.stringify(command))
            .join('\n'),
        ),
      )
      opened.on('message', (frame: Buffer) => {
        if (frame.length === 2) return opened.send('{}')
        for (const line of String(frame).split('\n')) take(JSON.parse(line))
      })
    })

  const open = async () => {
    for (let pauseMs = FIRST_PAUSE_MS; !isStopped; pauseMs = nextPause(pauseMs)) {
      const isOpen = await connect().then(
        () => true,
        () => false,
      )
      if (isOpen) return
      attempt += 1
      await pause(pauseMs * (0.5 + Math.random()))
    }
  }
  const comeBack = async () => {
    await pause(FIRST_PAUSE_MS * (0.5 + Math.random()))
    await open()
  }
  const stop = () => {
    isStopped = true
    socket?.removeAllListeners()
    socket?.on('error', () => {}) // of one that was just opening
    socket?.terminate()
  }
  return { open, stop }
}

const nextPause = (milliseconds: number) => Math.min(2 * milliseconds, LONGEST_PAUSE_MS)
