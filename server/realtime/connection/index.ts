import { randomUUID } from 'node:crypto'
import { limits, topics } from '@parley/contract'
import type { WebSocket } from 'ws'
import type { Claims } from '../../core/tokens.ts'
import type { RealtimeNode } from '../node.ts'
import type { Codec, Command, Reply } from '../protocol/codec.ts'
import {
  type Closing,
  closings,
  errors,
  type ProtocolError,
  unsubscribes,
} from '../protocol/codes.ts'
import type { Delivery } from '../publication.ts'
import type { Session } from '../sessions.ts'
import type { EndReason, Subscriber, Subscription } from '../topic.ts'
import type { BufferedSocket, WriteBuffer } from '../write-buffer.ts'

/** A token bucket of commands: its size, and how many a connection earns in a second. */
const COMMAND_BURST = 2_500
const COMMANDS_PER_SECOND = 100
/** The number of rejected commands after which the connection is closed. */
const MAX_REJECTED = 1_000

/** Handles the next command of a connection, or the next consecutive subscribes. */
type CommandHandler = (connection: Connection, commands: Command[]) => Promise<void> | void

type ConnectionOptions = {
  socket: WebSocket
  codec: Codec
  node: RealtimeNode
  handle: CommandHandler
}

/**
 * One WebSocket of the protocol: its user, its subscriptions, its timers and its buffers. The
 * commands are implemented in commands.ts.
 */
export class Connection implements Session, Subscriber, BufferedSocket {
  readonly id = randomUUID()
  appId = ''
  userId = ''
  generation = 0
  readonly subscriptions = new Map<string, Subscription>()
  /** Topics with a subscribe command that is being handled. */
  readonly joining = new Set<string>()
  /** `rejected`: the token had expired. The client knows, and no further command is handled. */
  stage: 'new' | 'connected' | 'rejected' | 'closed' = 'new'
  #commands: Command[] = []
  #isHandling = false
  #messages: Buffer[] = []
  #allowedBytes: number = limits.realtime.bufferedBytes
  /** For the connect command first, later for pings and pongs. */
  #timer: NodeJS.Timeout
  #expiry: NodeJS.Timeout | undefined
  #isAwaitingPong = false
  #credit = COMMAND_BURST
  #creditedAt = Date.now()

  readonly socket: WebSocket
  readonly codec: Codec
  readonly node: RealtimeNode
  readonly #handle: CommandHandler

  constructor({ socket, codec, node, handle }: ConnectionOptions) {
    this.socket = socket
    this.codec = codec
    this.node = node
    this.#handle = handle
    this.#timer = setTimeout(() => this.close(closings.stale), node.timings.connectMs)
  }

  get topics() {
    return [...this.subscriptions.keys(), ...this.joining]
  }

  get userTopic() {
    return topics.user(this.appId, this.userId)
  }

  /** Accepts the commands of a frame. */
  receive(frame: Buffer, isBinary: boolean) {
    if (this.stage === 'closed' || this.stage === 'rejected') return
    try {
      if (isBinary !== this.codec.isBinary) throw new Error('expected the other kind of frame')
      for (const command of this.codec.decode(frame)) this.#accept(command)
    } catch {
      return this.close(closings.badRequest)
    }
    if (!this.#isHandling) void this.#handleAll()
  }

  /** Handles commands strictly in order. Consecutive subscribes are handled together. */
  async #handleAll() {
    this.#isHandling = true
    try {
      while (this.#commands.length > 0 && (this.stage === 'new' || this.stage === 'connected'))
        await this.#handle(this, this.#nextCommands())
    } catch (error) {
      this.node.report(error, 'realtime command failed')
      this.close(closings.serverError)
    }
    this.#commands = []
    this.#isHandling = false
  }

  #nextCommands(): Command[] {
    const end = this.#commands.findIndex(({ name }) => name !== 'subscribe')
    const subscribes = end === -1 ? this.#commands.length : end
    return this.#commands.splice(0, Math.max(1, subscribes))
  }

  #accept(command: Command) {
    if (command.name === 'pong') return this.#handlePong()
    this.#takeCredit()
    if (this.#credit < -MAX_REJECTED) this.close(closings.tooManyRequests)
    else if (this.#credit >= 0 || this.stage === 'new') this.#commands.push(command)
    else this.replyError(command, errors.tooManyRequests)
  }

  #takeCredit() {
    const now = Date.now()
    const earned = ((now - this.#creditedAt) / 1000) * COMMANDS_PER_SECOND
    this.#credit = Math.min(COMMAND_BURST, this.#credit + earned) - 1
    this.#creditedAt = now
  }

  /** The connection is a user's from now on. */
  begin({ appId, userId, generation, expiresAt }: Claims) {
    this.generation = generation
    this.appId = appId
    this.userId = userId
    this.stage = 'connected'
    this.expireAt(expiresAt)
    const { pingMs } = this.node.timings
    // Spread over time, so that not all connections are pinged at once.
    this.#pingAfter(pingMs / 2 + (Math.random() * pingMs) / 2)
  }

  /** Closes when the token has expired, after a grace in which the client can refresh it. */
  expireAt(seconds: number) {
    clearTimeout(this.#expiry)
    const milliseconds = seconds * 1000 - Date.now() + this.node.timings.expiryGraceMs
    this.#expiry = setTimeout(() => this.close(closings.expired), milliseconds)
  }

  #pingAfter(milliseconds: number) {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#isAwaitingPong = true
      this.socket.send(this.codec.ping, { binary: this.codec.isBinary })
      this.#timer = setTimeout(() => this.close(closings.noPong), this.node.timings.pongMs)
    }, milliseconds)
  }

  #handlePong() {
    if (!this.#isAwaitingPong) return this.close(closings.badRequest)
    this.#isAwaitingPong = false
    this.#pingAfter(this.node.timings.pingMs)
  }

  reply(reply: Reply) {
    const message = this.codec.encodeReply(reply)
    // A reply may exceed the limit for buffered messages: the client requested it.
    const { bufferedBytes } = limits.realtime
    this.#allowedBytes = Math.max(bufferedBytes + message.length, this.#allowedBytes)
    this.#send(message)
  }

  replyError(command: Command, error: ProtocolError) {
    if (command.name !== 'pong' && command.id > 0) this.reply({ id: command.id, error })
  }

  deliver(delivery: Delivery) {
    this.#send(delivery.encode(this.codec))
  }

  subscriptionEnded(topic: string, reason: EndReason) {
    // Without a reply to the subscribe yet, that reply will say so instead.
    if (this.subscriptions.delete(topic))
      this.#send(this.codec.encodeUnsubscribe(topic, unsubscribes[reason]))
  }

  #send(message: Buffer) {
    if (this.stage === 'closed') return
    if (this.#messages.push(message) === 1) this.node.writeBuffer.add(this)
  }

  /** Writes the buffered messages, or closes if the client does not read earlier ones. */
  flush(writeBuffer: WriteBuffer) {
    if (this.stage === 'closed' || this.#messages.length === 0) return
    const unwritten = this.socket.bufferedAmount
    if (unwritten > this.#allowedBytes) return this.close(closings.slow)
    const { bufferedBytes } = limits.realtime
    if (unwritten === 0) this.#allowedBytes = bufferedBytes
    const messages = this.#messages
    this.#messages = []
    const frame = writeBuffer.frame(this.codec, messages)
    if (frame.length > this.#allowedBytes) this.#allowedBytes = frame.length + bufferedBytes
    this.socket.send(frame, { binary: this.codec.isBinary })
  }

  /** Closes from the server's side, after writing the buffered messages. */
  close({ code, reason }: Closing) {
    if (this.stage === 'closed') return
    if (code !== closings.slow.code) this.flush(this.node.writeBuffer)
    this.closed()
    this.socket.close(code, reason)
    this.node.terminateLater(this.socket)
  }

  /** The socket is closed, or about to be. */
  closed() {
    if (this.stage === 'closed') return
    const wasConnected = this.userId !== ''
    this.stage = 'closed'
    clearTimeout(this.#timer)
    clearTimeout(this.#expiry)
    for (const subscription of this.subscriptions.values()) subscription.leave()
    this.subscriptions.clear()
    if (wasConnected) this.node.unregister(this)
  }
}
