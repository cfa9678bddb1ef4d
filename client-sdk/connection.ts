import { Centrifuge, type Subscription } from 'centrifuge'
import { WebSocket as PlatformWebSocket } from '#websocket'
import { ChatError, toChatError } from './error.ts'
import { createStore, type Store, type WritableStore } from './store.ts'
import { backoff, createDeferred, type Deferred, retryDelay } from './timing.ts'
import type { Tokens } from './tokens.ts'

/** The state of the connection to the server. */
export type ConnectionState = {
  /** `catching-up`: connected, and fetching what was missed. `live`: the stores are up to date. */
  status: 'connecting' | 'live' | 'catching-up' | 'offline'
  /**
   * While offline: milliseconds from this snapshot to the next attempt; null if none is scheduled.
   */
  reconnectInMs: number | null
  /** Why the last attempt failed. */
  lastError?: ChatError | undefined
}

/** A position in a topic's history. */
export type StreamPosition = { epoch: string; offset: number }
type TopicSubscriber = {
  /** Where to recover from at the first subscription. */
  since?: StreamPosition | undefined
  /**
   * Events arrive without gaps from here on; if `isRecovered`, also since the last known position.
   */
  onSubscribed: (context: { isRecovered: boolean; position: StreamPosition }) => void
  onEvent: (envelope: unknown, rev: number | undefined) => void
  /** The user may not read the topic, or no longer. */
  onAccessLost: () => void
}
type TopicSubscription = { subscriber: TopicSubscriber; subscription?: Subscription }
type ConnectionOptions = {
  tokens: Tokens
  webSocket: typeof globalThis.WebSocket | undefined
  /** Fetches what was missed, after each connect. */
  catchUp: () => Promise<void>
  onError: (error: unknown) => void
}

/** A connection that lasted this long resets the backoff. */
const STABLE_MS = 5_000
/** A working socket responds within this time. */
const PING_TIMEOUT_MS = 5_000
/** The transport's code for what the client itself did, such as disconnecting. */
const BY_CLIENT = 0
/** The protocol's error code for a connect with an expired token. */
const TOKEN_EXPIRED = 109
/** The transport's error code for a missing response. */
const NO_RESPONSE = 1

/** The client's only socket. It reconnects with backoff until `disconnect()`. */
export class Connection {
  readonly #store: WritableStore<ConnectionState>
  readonly #topics = new Map<string, TopicSubscription>()
  #transport: Centrifuge | undefined
  /** Settles the promise of `connect()`; undefined while no connection is wanted. */
  #whenLive: Deferred<void> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  #connectedAt: number | undefined
  /** Counts attempts, so that results of an abandoned one are ignored. */
  #attempt = 0

  constructor(readonly options: ConnectionOptions) {
    this.#store = createStore<ConnectionState>({ status: 'offline', reconnectInMs: null }, options)
  }

  get state(): Store<ConnectionState> {
    return this.#store
  }

  /** Idempotent; resolves when live. */
  connect(): Promise<void> {
    if (!this.#whenLive) {
      this.#whenLive = createDeferred()
      void this.#connect()
    }
    return this.#whenLive.promise
  }

  disconnect() {
    this.#whenLive?.reject(new ChatError('disconnected', { code: 'ABORTED' }))
    this.#whenLive = undefined
    this.#abandonAttempt()
    this.#store.set({ status: 'offline', reconnectInMs: null })
  }

  /** Checks the connection: while a device sleeps, timers stop and sockets die silently. */
  wake() {
    if (!this.#whenLive) return
    const { status } = this.#store.getSnapshot()
    if (status === 'offline') void this.#connect()
    else if (status !== 'connecting') void this.#ping()
  }

  /** Returns the unsubscribe. */
  subscribe(name: string, subscriber: TopicSubscriber): () => void {
    const topic: TopicSubscription = { subscriber }
    this.#topics.set(name, topic)
    if (this.#transport) this.#open(name, topic, this.#transport)
    return () => {
      if (this.#topics.get(name) !== topic) return
      this.#topics.delete(name)
      this.#close(topic)
    }
  }

  async #connect() {
    this.#abandonAttempt()
    const attempt = this.#attempt
    this.#store.set({ ...this.#store.getSnapshot(), status: 'connecting', reconnectInMs: null })
    try {
      const { wsUrl, wsToken } = await this.options.tokens.get()
      if (attempt !== this.#attempt) return
      const transport = this.#transportTo(wsUrl)
      transport.setToken(wsToken)
      transport.connect()
    } catch (error) {
      if (attempt === this.#attempt) this.#reconnectLater(toChatError(error))
    }
  }

  #abandonAttempt() {
    this.#attempt += 1
    clearTimeout(this.#timer)
    this.#transport?.disconnect()
  }

  #transportTo(url: string) {
    if (this.#transport) return this.#transport
    const { tokens, webSocket = PlatformWebSocket } = this.options
    const transport = new Centrifuge(url, {
      websocket: webSocket,
      getToken: async () => (await tokens.get()).wsToken,
      name: 'parley',
    })
    this.#transport = transport
    transport.on('connected', () => void this.#handleConnected())
    transport.on('connecting', ({ code, reason }) => {
      if (code !== BY_CLIENT) this.#reconnectLater(connectionLost(reason))
    })
    transport.on('disconnected', ({ code, reason }) => {
      if (code !== BY_CLIENT) this.#handleRejectedToken(connectionLost(reason))
    })
    transport.on('error', ({ error }) => {
      if (this.#store.getSnapshot().status !== 'connecting') return
      if (error.code === TOKEN_EXPIRED) this.#handleRejectedToken(connectionLost(error.message))
      else this.#reconnectLater(connectionLost(error.message))
    })
    for (const [name, topic] of this.#topics) this.#open(name, topic, transport)
    return transport
  }

  /** Renews the token before the next attempt: a rejected one would be rejected again. */
  #handleRejectedToken(lastError: ChatError) {
    const { tokens } = this.options
    this.#abandonAttempt()
    const attempt = this.#attempt
    this.#store.set({ status: 'offline', reconnectInMs: null, lastError })
    const renewed = tokens.get().then(({ wsToken }) => tokens.renew({ wsToken }))
    const reconnect = () => {
      if (attempt === this.#attempt) this.#reconnectLater(lastError)
    }
    renewed.then(reconnect, reconnect)
  }

  async #handleConnected() {
    const attempt = this.#attempt
    this.#connectedAt = performance.now()
    this.#store.set({ status: 'catching-up', reconnectInMs: null })
    const topics = [...this.#topics.values()]
    await Promise.all(
      topics.map(({ subscription }) => subscription?.ready(PING_TIMEOUT_MS).catch(() => {})),
    )
    await this.#catchUp(attempt)
  }

  async #catchUp(attempt: number, tries = 1) {
    const error = await this.options.catchUp().then(() => undefined, toChatError)
    if (attempt !== this.#attempt) return
    if (error?.retryable) {
      const delayMs = retryDelay(error, { attempt: tries, minMs: 1_000, maxMs: 30_000 })
      this.#timer = setTimeout(() => void this.#catchUp(attempt, tries + 1), delayMs)
      return this.#store.set({ status: 'catching-up', reconnectInMs: null, lastError: error })
    }
    this.#store.set({ status: 'live', reconnectInMs: null })
    this.#whenLive?.resolve()
  }

  #reconnectLater(lastError: ChatError) {
    if (!this.#whenLive) return
    this.#abandonAttempt()
    const connectedMs = performance.now() - (this.#connectedAt ?? performance.now())
    this.#failures = connectedMs > STABLE_MS ? 1 : this.#failures + 1
    this.#connectedAt = undefined
    const backoffMs = backoff(this.#failures, { minMs: 500, maxMs: 30_000 })
    const reconnectInMs = Math.round(Math.max(this.options.tokens.retryInMs, backoffMs))
    this.#timer = setTimeout(() => void this.#connect(), reconnectInMs)
    this.#store.set({ status: 'offline', reconnectInMs, lastError })
  }

  /** Sends a small request: a socket without a response is dead. An error is a response too. */
  async #ping() {
    const attempt = this.#attempt
    const [topic] = this.#topics.values()
    const isDead = await topic?.subscription?.history({ limit: 0 }).then(
      () => false,
      ({ code }) => code === NO_RESPONSE,
    )
    if (isDead && attempt === this.#attempt) this.#reconnectLater(connectionLost('no answer'))
  }

  #open(name: string, topic: TopicSubscription, transport: Centrifuge) {
    const { since, onSubscribed, onEvent, onAccessLost } = topic.subscriber
    const subscription = transport.newSubscription(name, since ? { since } : {})
    topic.subscription = subscription
    subscription.on('subscribed', ({ wasRecovering, recovered, streamPosition }) =>
      onSubscribed({
        isRecovered: wasRecovering && recovered,
        position: streamPosition ?? { epoch: '', offset: 0 },
      }),
    )
    subscription.on('publication', ({ data, offset }) => onEvent(data, offset))
    subscription.on('unsubscribed', ({ code }) => {
      if (code !== BY_CLIENT) onAccessLost()
    })
    subscription.subscribe()
  }

  #close({ subscription }: TopicSubscription) {
    if (!subscription) return
    subscription.unsubscribe()
    this.#transport?.removeSubscription(subscription)
  }
}

const connectionLost = (reason: string) =>
  new ChatError(`the connection was lost; ${reason}`, { code: 'NETWORK_ERROR' })
