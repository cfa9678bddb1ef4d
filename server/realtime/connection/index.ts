import { randomUUID } from 'node:crypto'
import { limits, topics } from '@parley/contract'
import type { Claims } from '../../core/signed-tokens.ts'
import { Credit, Recoveries } from '../credit.ts'
import type { RealtimeNode } from '../node.ts'
import type { ClientCommand, Codec, Reply } from '../protocol/codec.ts'
import {
  type Closing,
  closings,
  errors,
  type ProtocolError,
  unsubscribes,
} from '../protocol/codes.ts'
import type { OutgoingPublication } from '../publication.ts'
import type { Session } from '../sessions.ts'
import type { Transport } from '../sockets/transport.ts'
import type { BufferedSocket, WriteBuffer } from '../sockets/write-buffer.ts'
import { untilExpiry } from '../timings.ts'
import type { EndReason, Subscription, TopicSubscriber } from '../topic/index.ts'
import { FrameQueue } from './frame-queue.ts'
import { Pings } from './pings.ts'

/** Handles the next command of a connection, or the next consecutive subscribes. */
type CommandHandler = (connection: Connection, commands: ClientCommand[]) => Promise<void> | void

type ConnectionOptions = {
  socket: Transport
  codec: Codec
  node: RealtimeNode
  handle: CommandHandler
}

/** One connection: its user, subscriptions, timers and buffers. Its commands: commands.ts. */
export class Connection implements Session, TopicSubscriber, BufferedSocket {
  readonly id = randomUUID()
  appId = ''
  userId = ''
  generation = 0
  readonly recoveries = new Recoveries()
  readonly subscriptions = new Map<string, Subscription>()
  /** Topics with a subscribe command that is being handled. */
  joining: string[] = []
  /** `rejected`: the token had expired. The client knows, and no further command is handled. */
  stage: 'new' | 'connected' | 'rejected' | 'closed' = 'new'
  readonly #frames: FrameQueue
  #commands: ClientCommand[] = []
  #isDecodedLater = false
  #isHandling = false
  /** The first command is being handled. Nothing else is decoded until it has succeeded. */
  #isConnecting = false
  #messages: Buffer[] = []
  #allowedBytes: number = limits.realtime.bufferedBytes
  /** Waits for the connect command, then for the end of the token. */
  #deadline: NodeJS.Timeout
  readonly #pings: Pings
  readonly credit = new Credit()

  readonly socket: Transport
  readonly codec: Codec
  readonly node: RealtimeNode
  readonly #handle: CommandHandler

  constructor({ socket, codec, node, handle }: ConnectionOptions) {
    this.socket = socket
    this.codec = codec
    this.node = node
    this.#handle = handle
    this.#frames = new FrameQueue(codec)
    this.#deadline = setTimeout(() => this.close(closings.stale), node.timings.connectMs)
    this.#pings = new Pings(this)
  }

  get topics() {
    return [...this.subscriptions.keys(), ...this.joining]
  }

  get userTopic() {
    return topics.user(this.appId, this.userId)
  }

  /** Accepts the commands of a frame. */
  receive(frame: Buffer, isBinary: boolean) {
    if (!this.isOpen) return
    const isExpected = isBinary === this.codec.isBinary
    if (!isExpected || !this.#frames.push(frame)) return this.close(closings.badRequest)
    this.#decode()
  }

  get isOpen() {
    return this.stage === 'new' || this.stage === 'connected'
  }

  isGone() {
    return this.stage === 'closed'
  }

  /** Decodes as far as the credit goes. The first command is handled before the next is decoded. */
  #decode() {
    if (this.#isDecodedLater) return
    for (let decoded = 0; this.node.commandTurns.hasRoom(decoded); decoded++) {
      if (!this.#decodeNext()) return void this.#handleAll()
    }
    this.#isDecodedLater = true
    this.node.commandTurns.wait(this.appId, () => {
      this.#isDecodedLater = false
      this.#decode()
    })
  }

  #decodeNext() {
    if (!this.isOpen || this.#isConnecting) return false
    try {
      const message = this.#frames.next()
      if (message) this.#accept(message)
      return message !== undefined
    } catch {
      this.close(closings.badRequest)
      return false
    }
  }

  #accept(message: Buffer) {
    this.node.commandTurns.take()
    this.credit.take()
    if (this.credit.isAbused) return this.close(closings.tooManyRequests)
    if (message.length > limits.realtime.commandBytes) throw new Error('expected a short command')
    const command = this.codec.decode(message)
    if (command.name === 'pong') return this.#handlePong()
    if (this.credit.isUsedUp) return this.replyError(command, errors.tooManyRequests)
    this.#isConnecting = this.stage === 'new'
    this.#commands.push(command)
  }

  /** Handles commands strictly in order. Consecutive subscribes are handled together. */
  async #handleAll() {
    if (this.#isHandling) return
    this.#isHandling = true
    try {
      while (this.#commands.length > 0) {
        await this.node.commandTurns.toHandle(this.appId)
        if (!this.isOpen) break
        await this.#handle(this, this.#nextCommands())
        if (this.#isConnecting) {
          this.#isConnecting = false
          this.#decode()
        }
      }
    } catch (error) {
      this.node.report(error, 'realtime command failed')
      this.close(closings.serverError)
    }
    this.#commands = []
    this.#isHandling = false
  }

  #nextCommands(): ClientCommand[] {
    const end = this.#commands.findIndex(({ name }) => name !== 'subscribe')
    const subscribes = end === -1 ? this.#commands.length : end
    return this.#commands.splice(0, Math.max(1, subscribes))
  }

  /** The connection is a user's from now on. */
  begin(claims: Claims) {
    this.appId = claims.appId
    this.userId = claims.userId
    this.stage = 'connected'
    this.renew(claims)
    this.#pings.start()
  }

  /** Closes when the token has expired, after a grace in which the client can refresh it. */
  renew({ generation, expiresAt }: Claims) {
    this.generation = generation
    clearTimeout(this.#deadline)
    const milliseconds = untilExpiry(expiresAt, this.node.timings)
    this.#deadline = setTimeout(() => this.close(closings.expired), milliseconds)
  }

  #handlePong() {
    if (!this.#pings.handlePong()) this.close(closings.badRequest)
  }

  reply(reply: Reply) {
    const message = this.codec.encodeReply(reply)
    // Recovered events were paid for when they were measured.
    if (!('subscribe' in reply)) this.credit.takeReply(message.length)
    // A reply may exceed the limit for buffered messages: the client requested it.
    const { bufferedBytes } = limits.realtime
    this.#allowedBytes = Math.max(bufferedBytes + message.length, this.#allowedBytes)
    this.#send(message)
  }

  replyError(command: ClientCommand, error: ProtocolError) {
    if (command.name !== 'pong' && command.id > 0) this.reply({ id: command.id, error })
  }

  deliver(outgoing: OutgoingPublication) {
    this.#send(outgoing.encode(this.codec))
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
    const frame = writeBuffer.frame(this.codec, this.#messages)
    this.#messages = []
    if (frame.length > this.#allowedBytes) this.#allowedBytes = frame.length + bufferedBytes
    this.node.sendMemory.send(this.socket, frame, this.codec)
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
    clearTimeout(this.#deadline)
    this.#pings.stop()
    for (const subscription of this.subscriptions.values()) subscription.leave()
    this.subscriptions.clear()
    this.#frames.clear()
    if (!wasConnected) return
    this.node.userSockets.release(this)
    this.node.unregister(this)
  }
}
