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
import type { Ending, Subscriber, Subscription } from '../topic.ts'
import type { WriteBuffer, Writer } from '../write-buffer.ts'

/** Commands that one frame may bring at once, and how many a second a connection earns on top. */
const COMMANDS_AT_ONCE = 2_500
const COMMANDS_A_SECOND = 100
/** Refused commands after which the connection is closed. */
const REFUSALS = 1_000

/** Carries out the next command of a connection, or the next subscribes in a row. */
export type CommandHandler = (connection: Connection, commands: Command[]) => Promise<void> | void

/** One socket of the protocol: its user, its subscriptions, its clocks. What its commands mean is in commands.ts. */
export class Connection implements Session, Subscriber, Writer {
  readonly id = randomUUID()
  appId = ''
  userId = ''
  generation = 0
  readonly subscriptions = new Map<string, Subscription>()
  /** Topics whose subscribe is being answered. */
  readonly joining = new Set<string>()
  stage: 'new' | 'connected' | 'refused' | 'closed' = 'new'
  #inbox: Command[] = []
  #isWorking = false
  #messages: Buffer[] = []
  #allowedBytes: number = limits.realtime.bufferedBytes
  #timer: NodeJS.Timeout
  #expiry: NodeJS.Timeout | undefined
  #isAwaitingPong = false
  #credit = COMMANDS_AT_ONCE
  #creditedAt = Date.now()

  readonly socket: WebSocket
  readonly codec: Codec
  readonly node: RealtimeNode
  readonly #handle: CommandHandler

  constructor({
    socket,
    codec,
    node,
    handle,
  }: { socket: WebSocket; codec: Codec; node: RealtimeNode; handle: CommandHandler }) {
    this.socket = socket
    this.codec = codec
    this.node = node
    this.#handle = handle
    this.#timer = setTimeout(() => this.close(closings.stale), node.timings.connectMs)
  }

  get topics() {
    return [...this.subscriptions.keys(), ...this.joining]
  }

  receive(frame: Buffer, isBinary: boolean) {
    if (this.stage === 'closed' || this.stage === 'refused') return
    try {
      if (isBinary !== this.codec.isBinary) throw new Error('expected the other kind of frame')
      for (const command of this.codec.decode(frame)) this.#accept(command)
    } catch {
      return this.close(closings.badRequest)
    }
    if (!this.#isWorking) void this.#work()
  }

  /** Strictly in order: the next command waits until this one is answered. Subscribes in a row are one question. */
  async #work() {
    this.#isWorking = true
    try {
      while (this.#inbox.length > 0 && (this.stage === 'new' || this.stage === 'connected'))
        await this.#handle(this, this.#take())
    } catch (error) {
      this.node.report(error, 'a command failed')
      this.close(closings.serverError)
    }
    this.#inbox = []
    this.#isWorking = false
  }

  #take(): Command[] {
    const end = this.#inbox.findIndex(({ name }) => name !== 'subscribe')
    return this.#inbox.splice(0, Math.max(1, end === -1 ? this.#inbox.length : end))
  }

  #accept(command: Command) {
    if (command.name === 'pong') return this.#pong()
    const now = Date.now()
    this.#credit =
      Math.min(
        COMMANDS_AT_ONCE,
        this.#credit + ((now - this.#creditedAt) / 1000) * COMMANDS_A_SECOND,
      ) - 1
    this.#creditedAt = now
    if (this.#credit < -REFUSALS) this.close(closings.tooManyRequests)
    else if (this.#credit >= 0 || this.stage === 'new') this.#inbox.push(command)
    else this.refuse(command, errors.tooManyRequests)
  }

  /** From now on a user's connection. */
  begin({ appId, userId, generation, expiresAt }: Claims) {
    this.generation = generation
    this.appId = appId
    this.userId = userId
    this.stage = 'connected'
    this.expireAt(expiresAt)
    const { pingMs } = this.node.timings
    this.#pingIn(pingMs / 2 + (Math.random() * pingMs) / 2)
  }

  /** The token is good until then, and a little longer to get a new one. */
  expireAt(seconds: number) {
    clearTimeout(this.#expiry)
    this.#expiry = setTimeout(
      () => this.close(closings.expired),
      seconds * 1000 - Date.now() + this.node.timings.expiryGraceMs,
    )
  }

  #pingIn(milliseconds: number) {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#isAwaitingPong = true
      this.socket.send(this.codec.ping, { binary: this.codec.isBinary })
      this.#timer = setTimeout(() => this.close(closings.noPong), this.node.timings.pongMs)
    }, milliseconds)
  }

  #pong() {
    if (!this.#isAwaitingPong) return this.close(closings.badRequest)
    this.#isAwaitingPong = false
    this.#pingIn(this.node.timings.pingMs)
  }

  reply(reply: Reply) {
    const message = this.codec.encodeReply(reply)
    // An answer may be larger than what is allowed to wait: it was asked for.
    this.#allowedBytes = Math.max(
      limits.realtime.bufferedBytes + message.length,
      this.#allowedBytes,
    )
    this.#send(message)
  }

  refuse(command: Command, error: ProtocolError) {
    if (command.name !== 'pong' && command.id > 0) this.reply({ id: command.id, error })
  }

  hear(delivery: Delivery) {
    this.#send(delivery.in(this.codec))
  }

  ended(topic: string, ending: Ending) {
    // Who has no answer to his subscribe yet is told by that.
    if (this.subscriptions.delete(topic))
      this.#send(this.codec.encodeUnsubscribe(topic, unsubscribes[ending]))
  }

  #send(message: Buffer) {
    if (this.stage === 'closed') return
    if (this.#messages.push(message) === 1) this.node.writeBuffer.add(this)
  }

  /** Writes what has gathered, unless the client does not read what it was sent before. */
  write(writeBuffer: WriteBuffer) {
    if (this.stage === 'closed' || this.#messages.length === 0) return
    const waiting = this.socket.bufferedAmount
    if (waiting > this.#allowedBytes) return this.close(closings.slow)
    if (waiting === 0) this.#allowedBytes = limits.realtime.bufferedBytes
    const messages = this.#messages
    this.#messages = []
    const frame = writeBuffer.frame(this.codec, messages)
    if (frame.length > this.#allowedBytes)
      this.#allowedBytes = frame.length + limits.realtime.bufferedBytes
    this.socket.send(frame, { binary: this.codec.isBinary })
  }

  /** Closes from this side; what was answered before still goes out. */
  close({ code, reason }: Closing) {
    if (this.stage === 'closed') return
    if (code !== closings.slow.code) this.write(this.node.writeBuffer)
    this.closed()
    this.socket.close(code, reason)
    this.node.terminateLater(this.socket)
  }

  /** The socket is gone, or going. */
  closed() {
    if (this.stage === 'closed') return
    const wasConnected = this.userId !== ''
    this.stage = 'closed'
    clearTimeout(this.#timer)
    clearTimeout(this.#expiry)
    for (const subscription of this.subscriptions.values()) subscription.leave()
    this.subscriptions.clear()
    if (wasConnected) this.node.left(this)
  }

  get ownTopic() {
    return topics.user(this.appId, this.userId)
  }
}
