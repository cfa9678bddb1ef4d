import { EventEmitter } from 'node:events'
import { limits, type TopicInput } from '@parley/contract'
import type { WebSocket } from 'ws'
import { ApiError } from '../../core/errors.ts'
import type { Claims } from '../../core/signed-tokens.ts'
import { memoryOf } from '../connection/frame-queue.ts'
import { Credit, Recoveries } from '../credit.ts'
import type { RealtimeNode } from '../node.ts'
import { type Closing, closings } from '../protocol/codes.ts'
import type { Session } from '../sessions.ts'
import { forgetRequest, identify, nameRefused } from '../sockets/counted-socket.ts'
import { untilExpiry } from '../timings.ts'
import { COMMANDS_PER_MESSAGE, TrpcFrames } from './frames.ts'
import { subscribeToTopic } from './subscription.ts'

const { bufferedBytes, commandBytes, frameBytes, subscriptionsPerTopic, topicsPerSocket } =
  limits.realtime

/**
 * A socket as tRPC's adapter sees it, with the limits of the protocol's own endpoint: the adapter
 * itself reads and writes without limits. Sockets of both endpoints take turns.
 *
 * The first message has the token. Those after it wait until the token is verified. With a bad one,
 * only the next message is answered: if it subscribes, with why the token was refused.
 */
export class TrpcSocket extends EventEmitter {
  #stage: 'new' | 'verifying' | 'accepted' | 'refused' | 'over' = 'new'
  #token = ''
  #waiting: { frame: Buffer; isBinary: boolean }[] = []
  #waitingBytes = 0
  /** Once the token is verified. */
  #appId = ''
  readonly #frames = new TrpcFrames()
  #isPassedLater = false
  #subscriptions = 0
  readonly #ofTopic = new Map<string, number>()
  #allowedBytes: number = bufferedBytes
  readonly #credit = new Credit()
  readonly #recoveries = new Recoveries()
  /** The time-out for verifying the token; afterwards the one for its expiry. */
  #timer: NodeJS.Timeout

  constructor(
    readonly socket: WebSocket,
    readonly node: RealtimeNode,
  ) {
    super()
    this.#timer = setTimeout(() => this.#end(closings.stale), node.timings.connectMs)
    forgetRequest(socket)
    socket.on('message', (frame: Buffer, isBinary: boolean) => this.#receive(frame, isBinary))
    socket.on('close', () => {
      clearTimeout(this.#timer)
      this.#frames.clear()
      this.emit('close')
    })
  }

  /** Verifies the token of the first message. */
  async authenticate(token = '') {
    this.#token = token
    const claims = await this.node.tokens.verify('ws', token)
    // From here its frames count for the user, however long the database takes.
    if ('refusal' in claims) nameRefused(this.socket, claims.user)
    else identify(this.socket, claims)
    const isGood = !('refusal' in claims) && (await this.#register(claims))
    if (this.readyState !== this.socket.OPEN) return
    this.#stage = isGood ? 'accepted' : 'refused'
    if (isGood) {
      this.#appId = claims.appId
      this.#closeAt(claims.expiresAt)
    }
    const waiting = this.#waiting
    this.#waiting = []
    for (const { frame, isBinary } of waiting) this.#receive(frame, isBinary)
  }

  /** The publications of a topic, for the holder of the token. */
  async *subscribe(input: TopicInput & { signal: AbortSignal | undefined }) {
    if (this.#subscriptions >= topicsPerSocket)
      throw new ApiError('RATE_LIMITED', `A socket has at most ${topicsPerSocket} subscriptions`)
    const ofTopic = this.#ofTopic.get(input.topic) ?? 0
    if (ofTopic >= subscriptionsPerTopic)
      throw new ApiError(
        'RATE_LIMITED',
        `A socket has at most ${subscriptionsPerTopic} subscriptions to one topic`,
      )
    this.#subscriptions += 1
    this.#ofTopic.set(input.topic, ofTopic + 1)
    try {
      const onRecovered = (bytes: number) => this.#allow(bytes)
      const own = { token: this.#token, recoveries: this.#recoveries, onRecovered }
      yield* subscribeToTopic(this.node, { ...input, ...own })
    } finally {
      this.#subscriptions -= 1
      this.#leave(input.topic)
    }
  }

  /**
   * Makes the socket a session of its user, which a revocation closes although it has no
   * subscription. Returns whether its token is still good.
   */
  async #register(claims: Claims) {
    const { node, socket } = this
    if (socket.readyState !== socket.OPEN) return false
    if (!node.userSockets.take(claims)) {
      this.#end(closings.tooManySockets)
      return false
    }
    const { appId, userId, generation } = claims
    const close = (closing: Closing) => this.#end(closing)
    const session: Session = { appId, userId, generation, topics: [], close }
    let isRegistered = true
    const leave = () => {
      if (!isRegistered) return
      isRegistered = false
      node.userSockets.release(claims)
      node.unregister(session)
    }
    socket.once('close', leave)
    // Registered before the generation is read, so that no revocation is missed in between.
    const isGood = (await node.register(session)) === generation
    if (!isGood) leave()
    return isGood
  }

  get readyState() {
    return this.socket.readyState
  }

  /** Writes, or closes if the client has not read earlier writes. */
  send(data: string) {
    const unwritten = this.socket.bufferedAmount
    if (unwritten > this.#allowedBytes) return this.#end(closings.slow)
    if (unwritten === 0) this.#allowedBytes = bufferedBytes
    this.node.sendMemory.send(this.socket, Buffer.from(data), { isBinary: false })
  }

  close() {
    this.#end(closings.badRequest)
  }

  terminate() {
    this.socket.terminate()
  }

  /** Missed publications may exceed the limit, since the client asked for them. */
  #allow(bytes: number) {
    this.#allowedBytes = Math.max(this.#allowedBytes, bufferedBytes + bytes)
  }

  #leave(topic: string) {
    const left = (this.#ofTopic.get(topic) ?? 0) - 1
    if (left > 0) this.#ofTopic.set(topic, left)
    else this.#ofTopic.delete(topic)
  }

  #closeAt(seconds: number) {
    clearTimeout(this.#timer)
    const milliseconds = untilExpiry(seconds, this.node.timings)
    this.#timer = setTimeout(() => this.#end(closings.expired), milliseconds)
  }

  #receive(frame: Buffer, isBinary: boolean) {
    if (this.readyState !== this.socket.OPEN) return
    switch (this.#stage) {
      case 'verifying':
        return this.#wait(frame, isBinary)
      case 'accepted':
        return this.#accept(frame, isBinary)
      case 'new':
        this.#stage = 'verifying'
        return this.#passShort(frame, isBinary)
      case 'refused':
        this.#stage = 'over'
        return this.#passShort(frame, isBinary)
      case 'over':
        return this.#end(closings.invalidToken)
    }
  }

  #accept(frame: Buffer, isBinary: boolean) {
    if (!this.#frames.push({ data: frame, isBinary })) return this.#end(closings.badRequest)
    this.#pass()
  }

  /** Passes on as much as there is room for in this turn, and the rest in later ones. */
  #pass() {
    if (this.#isPassedLater) return
    const { commandTurns } = this.node
    for (let passed = 0; commandTurns.hasRoom(passed); passed++) {
      const message = this.#frames.next(this.#pay)
      if (!message) return
      commandTurns.take(COMMANDS_PER_MESSAGE)
      this.emit('message', message.data, message.isBinary)
    }
    this.#isPassedLater = true
    commandTurns.wait(this.#appId, () => {
      this.#isPassedLater = false
      this.#pass()
    })
  }

  /** Parsing a frame takes this much of the turn, whether it is paid for or not. */
  readonly #pay = (commands: number) => {
    this.node.commandTurns.take(commands)
    this.#credit.take(commands)
    if (!this.#credit.isUsedUp) return true
    this.#end(closings.tooManyRequests)
    return false
  }

  #end({ code, reason }: Closing) {
    if (this.readyState !== this.socket.OPEN) return
    this.#frames.clear()
    this.socket.close(code, reason)
    this.node.terminateLater(this.socket)
  }

  #wait(frame: Buffer, isBinary: boolean) {
    this.#waitingBytes += memoryOf(frame)
    if (this.#waitingBytes > frameBytes) return this.#end(closings.badRequest)
    this.#waiting.push({ frame, isBinary })
  }

  #passShort(frame: Buffer, isBinary: boolean) {
    if (frame.length > commandBytes) return this.#end(closings.badRequest)
    this.emit('message', frame, isBinary)
  }
}
