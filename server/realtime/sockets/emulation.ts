import { randomUUID } from 'node:crypto'
import { networkOf } from '../../core/addresses.ts'
import { createLru } from '../../core/lru.ts'
import type { Tokens } from '../../core/signed-tokens.ts'
import type { AcceptedNote, Broker, CommandsNote } from '../broker/index.ts'
import { closings } from '../protocol/codes.ts'
import type { StreamSocket } from './stream-socket.ts'

/** Commands of a client without a WebSocket. Session and node are from its connect reply. */
export type EmulationRequest = {
  sessionId: string
  node: string
  /** Text, or bytes in base64. */
  data: string
  isBinary: boolean
}
/** `unknown`: there is no such session; the client connects again. */
type EmulationOutcome = 'accepted' | 'unknown' | 'too many' | 'busy'

/**
 * How long another node may take to answer: then the request is repeated over another way, where
 * there is one, and at the end the node is taken for dead.
 */
const RESEND_MS = 1_000
const ANSWER_MS = 4_000
/**
 * The most requests that may wait for other nodes, of a session, of a network, and in all. They
 * share the broker with all other notes, which a burst of one client must not delay. Anybody can
 * get any number of sessions, so those of one network have a share.
 */
const OF_SESSION = { requests: 32, characters: 512 * 1024 }
const OF_NETWORK = { requests: 1_250, characters: 1024 * 1024 }
const WAITING = { requests: 5_000, characters: 4 * 1024 * 1024 }
/** How many requests from other nodes are remembered, because their notes may arrive twice. */
const REMEMBERED = 10_000
/** How many sessions that other nodes did not know are remembered. */
const ENDED = 10_000

/** Handles the commands of a session. */
type FrameHandler = { readonly isOpen: boolean; receive(frame: Buffer, isBinary: boolean): void }

type EmulationOptions = {
  nodeId: string
  tokens: Pick<Tokens, 'isSessionId'>
  broker: Pick<Broker, 'send' | 'resend'>
  terminateLater: (socket: StreamSocket) => void
}
type PendingRequest = { settle: (isKnown: boolean) => void }
type Waits = { requests: number; characters: number }

/**
 * The connections of this node that are not WebSockets, by their sessions. Requests for those of
 * another node are passed to it; only sessions that a node has issued are.
 */
export class Emulation {
  readonly #connections = new Map<string, { handler: FrameHandler; socket: StreamSocket }>()
  readonly #sockets = new Set<StreamSocket>()
  readonly #waiting = new Map<string, PendingRequest>()
  /** Waiting commands by session, and by network. */
  readonly #ofCaller = new Map<string, Waits>()
  #characters = 0
  readonly #handled = new Map<string, boolean>()
  /**
   * Sessions that other nodes do not know. A session that has ended never comes back, so no further
   * notes are sent for it.
   */
  readonly #ended = createLru<true>({ entries: ENDED })

  constructor(readonly options: EmulationOptions) {}

  get sockets(): Iterable<StreamSocket> {
    return this.#sockets
  }

  add(socket: StreamSocket, handler: FrameHandler) {
    this.#sockets.add(socket)
    this.#connections.set(socket.sessionId, { handler, socket })
    socket.once('close', () => {
      this.#sockets.delete(socket)
      this.#connections.delete(socket.sessionId)
    })
  }

  /** Ends the responses of clients that have not connected. */
  close() {
    const { code, reason } = closings.shutdown
    for (const socket of this.#sockets) {
      socket.close(code, reason)
      this.options.terminateLater(socket)
    }
  }

  /** Passes commands that came from this address to their connection, here or on another node. */
  async receive(request: EmulationRequest, address: string): Promise<EmulationOutcome> {
    const { sessionId, node, data } = request
    const { nodeId, tokens, broker } = this.options
    if (!tokens.isSessionId(sessionId, node)) return 'unknown'
    if (node === nodeId) {
      return this.#deliver(request) ? 'accepted' : 'unknown'
    }
    if (this.#ended.get(sessionId)) return 'unknown'
    const network = networkOf(address)
    if (!this.#hasRoom(sessionId, data, OF_SESSION)) return 'too many'
    if (!this.#hasRoom(network, data, OF_NETWORK)) return 'too many'
    if (this.#waiting.size >= WAITING.requests) return 'busy'
    if (this.#characters + data.length > WAITING.characters) return 'busy'
    const sent = { kind: 'commands', node, id: randomUUID(), from: nodeId } as const
    const { isBinary } = request
    const note: CommandsNote = { ...sent, session: sessionId, data, isBinary }
    const answer = this.#answerTo(note, { callers: [sessionId, network], characters: data.length })
    broker.send(note)
    if (await answer) return 'accepted'
    this.#ended.set(sessionId, true)
    return 'unknown'
  }

  /** Handles the request of another node. */
  handleCommands(note: CommandsNote) {
    if (note.node !== this.options.nodeId) return
    const { session: sessionId } = note
    const isKnown = this.#handled.get(note.id) ?? this.#deliver({ ...note, sessionId })
    this.#handled.set(note.id, isKnown)
    const [oldest] = this.#handled.keys()
    if (this.#handled.size > REMEMBERED && oldest !== undefined) this.#handled.delete(oldest)
    this.options.broker.send({ kind: 'accepted', node: note.from, id: note.id, isKnown })
  }

  /** Handles the answer of another node. */
  handleAccepted({ node, id, isKnown }: AcceptedNote) {
    if (node === this.options.nodeId) this.#waiting.get(id)?.settle(isKnown)
  }

  #deliver({ sessionId, data, isBinary }: EmulationRequest) {
    const { handler, socket } = this.#connections.get(sessionId) ?? {}
    if (!socket || !handler?.isOpen) return false
    const frame = Buffer.from(data, isBinary ? 'base64' : 'utf8')
    socket.received(frame)
    handler.receive(frame, isBinary)
    return true
  }

  #answerTo(note: CommandsNote, waiting: { callers: string[]; characters: number }) {
    this.#count(waiting, 1)
    return new Promise<boolean>((resolve) => {
      const settle = (isKnown: boolean) => {
        for (const timer of timers) clearTimeout(timer)
        if (this.#waiting.delete(note.id)) this.#count(waiting, -1)
        resolve(isKnown)
      }
      const timers = [
        setTimeout(() => this.options.broker.resend?.(note), RESEND_MS),
        setTimeout(() => settle(false), ANSWER_MS),
      ]
      this.#waiting.set(note.id, { settle })
    })
  }

  #count({ callers, characters }: { callers: string[]; characters: number }, change: 1 | -1) {
    this.#characters += change * characters
    for (const caller of callers) {
      const count = this.#countOf(caller)
      count.requests += change
      count.characters += change * characters
      if (count.requests > 0) this.#ofCaller.set(caller, count)
      else this.#ofCaller.delete(caller)
    }
  }

  #hasRoom(caller: string, { length }: string, most: Waits) {
    const { requests, characters } = this.#countOf(caller)
    return requests < most.requests && characters + length <= most.characters
  }

  #countOf(caller: string) {
    return this.#ofCaller.get(caller) ?? { requests: 0, characters: 0 }
  }
}
