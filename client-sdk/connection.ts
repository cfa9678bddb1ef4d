import { Centrifuge, type Subscription } from 'centrifuge'
import { WebSocket as OwnWebSocket } from '#websocket'
import { ChatError, toChatError } from './error.ts'
import { createStore, type Store } from './store.ts'
import { backoff } from './timing.ts'
import type { Tokens } from './tokens.ts'

/** How the client stands with the server. */
export type ConnectionState = {
  /** `catching-up`: connected, and learning what was missed. `live`: everything shown is true now. */
  status: 'connecting' | 'live' | 'catching-up' | 'offline'
  /** While offline: how long until the next attempt, in milliseconds from when this was said; null when there is none. */
  reconnectInMs: number | null
  /** Why the last attempt failed. */
  lastError?: ChatError | undefined
}

/** A place in a topic's history. */
export type Position = { epoch: string; offset: number }
export type TopicListener = {
  /** From now on events come without a hole; whether also since `since`, or since the connection broke. */
  onSubscribed: (context: { isRecovered: boolean; position: Position }) => void
  onEvent: (envelope: unknown, rev: number | undefined) => void
  /** The topic is not, or no longer, this user's to hear. */
  onRefused: () => void
}
type Topic = { listener: TopicListener; since: Position | undefined; subscription?: Subscription }
type Options = {
  tokens: Tokens
  webSocket: typeof globalThis.WebSocket | undefined
  /** Learns what was missed, once connected. */
  catchUp: () => Promise<void>
  report: (error: unknown) => void
}

/** So long a connection must hold before the next failure counts as the first. */
const STABLE_MS = 5_000
/** A live socket answers within so long. */
const PROBE_MS = 5_000
/** Of the protocol: an error in answer to a connect. */
const TOKEN_EXPIRED = 109
/** Of the transport: no answer came. */
const TIMEOUT = 1

/** The one socket of a client: connects, and connects again at its own pace, for as long as it is wanted. */
export class Connection {
  readonly #store: ReturnType<typeof createStore<ConnectionState>>
  readonly #topics = new Map<string, Topic>()
  #socket: Centrifuge | undefined
  #wanted: PromiseWithResolvers | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  #connectedAt = 0
  #attempt = 0

  constructor(readonly options: Options) {
    this.#store = createStore<ConnectionState>({ status: 'offline', reconnectInMs: null }, options)
  }

  get state(): Store<ConnectionState> {
    return this.#store
  }

  /** Connects, unless that is being done; resolves when live. */
  connect(): Promise<void> {
    if (!this.#wanted) {
      this.#wanted = promiseWithResolvers()
      void this.#try()
    }
    return this.#wanted.promise
  }

  disconnect() {
    this.#wanted?.reject(new ChatError('disconnected', { code: 'ABORTED' }))
    this.#wanted = undefined
    this.#stop()
    this.#store.set({ status: 'offline', reconnectInMs: null })
  }

  /** The page is shown again, or the network is back: timers may have slept and sockets died in silence. */
  wake() {
    if (!this.#wanted) return
    const { status } = this.#store.getSnapshot()
    if (status === 'offline') void this.#try()
    else if (status !== 'connecting') void this.#probe()
  }

  /** Hears a topic until it is told to stop. */
  subscribe(name: string, listener: TopicListener, since?: Position): () => void {
    const topic: Topic = { listener, since }
    this.#topics.set(name, topic)
    if (this.#socket) this.#open(name, topic, this.#socket)
    return () => {
      if (this.#topics.get(name) !== topic) return
      this.#topics.delete(name)
      this.#close(topic)
    }
  }

  async #try() {
    this.#stop()
    const attempt = this.#attempt
    this.#store.set({ ...this.#store.getSnapshot(), status: 'connecting', reconnectInMs: null })
    try {
      const { wsUrl, wsToken } = await this.options.tokens.get()
      if (attempt !== this.#attempt) return
      const socket = this.#socketFor(wsUrl)
      socket.setToken(wsToken)
      socket.connect()
    } catch (error) {
      if (attempt === this.#attempt) this.#retry(toChatError(error))
    }
  }

  #stop() {
    this.#attempt += 1
    clearTimeout(this.#timer)
    this.#socket?.disconnect()
  }

  #socketFor(url: string) {
    if (this.#socket) return this.#socket
    const { tokens, webSocket = OwnWebSocket } = this.options
    const socket = new Centrifuge(url, {
      websocket: webSocket,
      getToken: async () => (await tokens.get()).wsToken,
      name: 'parley',
    })
    this.#socket = socket
    socket.on('connected', () => void this.#connected())
    // Code 0 is our own doing.
    socket.on('connecting', ({ code, reason }) => code !== 0 && this.#retry(lost(reason)))
    socket.on('disconnected', ({ code, reason }) => code !== 0 && this.#refused(lost(reason)))
    socket.on('error', ({ error }) => {
      if (this.#store.getSnapshot().status !== 'connecting') return
      if (error.code === TOKEN_EXPIRED) this.#refused(lost(error.message))
      else this.#retry(lost(error.message))
    })
    for (const [name, topic] of this.#topics) this.#open(name, topic, socket)
    return socket
  }

  /** A token that was refused is not tried again, unless there is no other. */
  #refused(lastError: ChatError) {
    const { tokens } = this.options
    this.#stop()
    const attempt = this.#attempt
    this.#store.set({ status: 'offline', reconnectInMs: null, lastError })
    const renewed = tokens.get().then(({ wsToken }) => tokens.renew({ wsToken }))
    renewed.catch(() => {}).finally(() => attempt === this.#attempt && this.#retry(lastError))
  }

  async #connected() {
    const attempt = this.#attempt
    this.#connectedAt = Date.now()
    this.#store.set({ status: 'catching-up', reconnectInMs: null })
    const topics = [...this.#topics.values()]
    await Promise.all(
      topics.map(({ subscription }) => subscription?.ready(PROBE_MS).catch(() => {})),
    )
    await this.#catchUp(attempt)
  }

  async #catchUp(attempt: number, failures = 1) {
    const error = await this.options.catchUp().then(() => undefined, toChatError)
    if (attempt !== this.#attempt) return
    if (error?.retryable) {
      const pauseMs = Math.max(
        error.retryAfterMs ?? 0,
        backoff(failures, { leastMs: 1_000, mostMs: 30_000 }),
      )
      this.#timer = setTimeout(() => void this.#catchUp(attempt, failures + 1), pauseMs)
      return this.#store.set({ status: 'catching-up', reconnectInMs: null, lastError: error })
    }
    this.#store.set({ status: 'live', reconnectInMs: null })
    this.#wanted?.resolve()
  }

  #retry(lastError: ChatError) {
    if (!this.#wanted) return
    this.#stop()
    this.#failures =
      Date.now() - this.#connectedAt > STABLE_MS && this.#connectedAt > 0 ? 1 : this.#failures + 1
    this.#connectedAt = 0
    const reconnectInMs = Math.round(
      Math.max(
        this.options.tokens.restMs,
        backoff(this.#failures, { leastMs: 500, mostMs: 30_000 }),
      ),
    )
    this.#timer = setTimeout(() => void this.#try(), reconnectInMs)
    this.#store.set({ status: 'offline', reconnectInMs, lastError })
  }

  /** Asks for something small: a socket that does not answer is dead. */
  async #probe() {
    const attempt = this.#attempt
    const [topic] = this.#topics.values()
    // The transport waits for an answer no longer than this, be it a refusal.
    const isDead = await topic?.subscription?.history({ limit: 0 }).then(
      () => false,
      ({ code }) => code === TIMEOUT,
    )
    if (isDead && attempt === this.#attempt) this.#retry(lost('no answer'))
  }

  #open(name: string, topic: Topic, socket: Centrifuge) {
    const { listener, since } = topic
    const subscription = socket.newSubscription(name, since ? { since } : {})
    topic.subscription = subscription
    subscription.on('subscribed', ({ wasRecovering, recovered, streamPosition }) =>
      listener.onSubscribed({
        isRecovered: wasRecovering && recovered,
        position: streamPosition ?? { epoch: '', offset: 0 },
      }),
    )
    subscription.on('publication', ({ data, offset }) => listener.onEvent(data, offset))
    // Code 0 is our own doing.
    subscription.on('unsubscribed', ({ code }) => code !== 0 && listener.onRefused())
    subscription.subscribe()
  }

  #close({ subscription }: Topic) {
    if (!subscription) return
    subscription.unsubscribe()
    this.#socket?.removeSubscription(subscription)
  }
}

const lost = (reason: string) =>
  new ChatError(`the connection was lost; ${reason}`, { code: 'NETWORK_ERROR' })

type PromiseWithResolvers = {
  promise: Promise<void>
  resolve: () => void
  reject: (error: ChatError) => void
}
function promiseWithResolvers(): PromiseWithResolvers {
  let [resolve, reject]: [() => void, (error: ChatError) => void] = [() => {}, () => {}]
  const promise = new Promise<void>((...settle) => ([resolve, reject] = settle))
  promise.catch(() => {})
  return { promise, resolve, reject }
}
