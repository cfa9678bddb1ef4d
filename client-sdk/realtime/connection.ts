import { WebSocket as PlatformWebSocket } from '#websocket'
import { aborted, ChatError, toChatError } from '../calls/error.ts'
import { createRetries, pause } from '../calls/retry.ts'
import { Session } from '../protocol/session.ts'
import { Subscriptions, type TopicSubscriber } from '../protocol/subscriptions.ts'
import { Transports } from '../protocol/transports.ts'
import { whatToCheck } from '../shared/platform.ts'
import { createStore, type Store, type WritableStore } from '../shared/store.ts'
import { createDeferred, type Deferred } from '../shared/timing.ts'
import type { Tokens } from './tokens.ts'

export type { TopicPosition } from '../protocol/messages.ts'

/** The state of the connection to the server. */
export type ConnectionState = {
  /** `catching-up`: connected, and fetching what was missed. `live`: the stores are up to date. */
  status: 'connecting' | 'live' | 'catching-up' | 'offline'
  /**
   * While offline: milliseconds from this snapshot to the next attempt; null if none is scheduled.
   */
  reconnectInMs: number | null
  /** Why the last attempt failed; while live: why not everything could be fetched. */
  lastError?: ChatError | undefined
}

type ConnectionOptions = {
  tokens: Tokens
  webSocket: typeof globalThis.WebSocket | undefined
  fetch: typeof globalThis.fetch | undefined
  /** Called on each connect: the server can be reached. */
  onConnected: () => void
  /** Fetches what was missed, after each connect. */
  catchUp: () => Promise<void>
  onError: (error: unknown) => void
}

/** A connection that lasted this long resets the backoff. */
const STABLE_MS = 5_000
/** How long catching up waits for topics that the server refuses for the moment. */
const SUBSCRIBE_TIMEOUT_MS = 5_000

/** The client's only connection. It reconnects with backoff until `disconnect()`. */
export class Connection {
  readonly #store: WritableStore<ConnectionState>
  readonly #subscriptions: Subscriptions
  readonly #transports: Transports
  #session: Session | undefined
  /**
   * Settles the promise of `connect()`: another one each time a live connection is lost. Undefined
   * while no connection is wanted.
   */
  #whenLive: Deferred<void> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  readonly #catchUpRetries = createRetries(() => void this.#catchUp())
  #failures = 0
  #connectedAt: number | undefined
  /** Whether the server has accepted a connection: its address is right. */
  #hasWorked = false
  /** Counts attempts, so that results of an abandoned one are ignored. */
  #attempt = 0

  constructor(readonly options: ConnectionOptions) {
    this.#store = createStore<ConnectionState>({ status: 'offline', reconnectInMs: null }, options)
    this.#subscriptions = new Subscriptions(options.onError)
    this.#transports = new Transports({
      webSocket: () => options.webSocket ?? PlatformWebSocket,
      fetch: (...request) => (options.fetch ?? globalThis.fetch)(...request),
      onWebSocket: () => void this.#connect(),
    })
  }

  get state(): Store<ConnectionState> {
    return this.#store
  }

  /** Whether the server works, judged by the socket. */
  get isConnected() {
    return ['live', 'catching-up'].includes(this.#store.getSnapshot().status)
  }

  /** Whether the application wants one, also while it is lost. */
  get isWanted() {
    return this.#whenLive !== undefined
  }

  /** Whether it is being made, or topics are being subscribed. */
  get isConnecting() {
    const { status } = this.#store.getSnapshot()
    return status !== 'offline' && !(status === 'live' && this.#subscriptions.areSettled)
  }

  /** Calls the listener each time the connection is lost. Returns the unsubscribe. */
  onOffline(listener: () => void): () => void {
    let before = this.#store.getSnapshot().status
    return this.#store.subscribe(() => {
      const { status } = this.#store.getSnapshot()
      if (status === 'offline' && before !== 'offline') listener()
      before = status
    })
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
    this.#whenLive?.reject(aborted('disconnected'))
    this.#whenLive = undefined
    this.#abandonAttempt()
    this.#store.set({ status: 'offline', reconnectInMs: null })
  }

  /** Checks the connection: while a device sleeps, timers stop and sockets die silently. */
  wake() {
    if (!this.#whenLive) return
    const { status } = this.#store.getSnapshot()
    if (status === 'offline') void this.#connect()
    else if (status !== 'connecting') this.#session?.call({ ping: {} })
  }

  /**
   * Handles that the device goes offline or to sleep: its socket is lost, although no event reports
   * it.
   */
  handleSleep() {
    this.#transports.forget()
    if (this.#session) this.#reconnectLater(connectionLost('the device is offline'))
  }

  /** Returns the unsubscribe. */
  subscribe(name: string, subscriber: TopicSubscriber): () => void {
    return this.#subscriptions.add(name, subscriber)
  }

  async #connect() {
    this.#abandonAttempt()
    const attempt = this.#attempt
    this.#store.set({ ...this.#store.getSnapshot(), status: 'connecting', reconnectInMs: null })
    try {
      const { wsUrl, wsToken } = await this.options.tokens.get()
      if (attempt !== this.#attempt) return
      this.#openSession(wsUrl, wsToken)
    } catch (error) {
      if (attempt === this.#attempt) this.#reconnectLater(toChatError(error))
    }
  }

  #abandonAttempt() {
    const { status } = this.#store.getSnapshot()
    if (this.#whenLive && status === 'live') this.#whenLive = createDeferred()
    this.#attempt += 1
    clearTimeout(this.#timer)
    this.#catchUpRetries.end()
    this.#transports.halt()
    this.#session?.close()
    this.#session = undefined
    this.#subscriptions.halt()
  }

  #openSession(url: string, token: string) {
    const { tokens } = this.options
    let isAccepted = false
    const session = new Session({
      openSocket: () => this.#transports.openSocket(url),
      token,
      getToken: async () => (await tokens.get()).wsToken,
      onOpen: () => this.#subscriptions.begin(session),
      onConnected: () => {
        isAccepted = true
        this.#hasWorked = true
        this.#transports.connected(url)
        void this.#handleConnected()
      },
      onPush: (push) => this.#subscriptions.handlePush(push),
      onEnd: ({ reason, isFinal }) => {
        if (!isAccepted && !isFinal) void this.#transports.failed()
        // The server has answered if it refused the token.
        const isUrlRight = isFinal || this.#hasWorked
        const error = connectionLost(
          reason + whatToCheck(isUrlRight),
          isUrlRight ? '' : ` to ${url}`,
        )
        if (isFinal) this.#handleRejectedToken(error)
        else this.#reconnectLater(error)
      },
    })
    this.#session = session
    session.begin()
  }

  /** Renews the token before the next attempt: a rejected one would be rejected again. */
  #handleRejectedToken(lastError: ChatError) {
    const { tokens } = this.options
    this.#abandonAttempt()
    const attempt = this.#attempt
    this.#store.set({ status: 'offline', reconnectInMs: null, lastError })
    const renewed = tokens.get().then(({ wsToken }) => tokens.renew({ wsToken }))
    void renewed.catch(toChatError).then(() => {
      if (attempt === this.#attempt) this.#reconnectLater(lastError)
    })
  }

  async #handleConnected() {
    const attempt = this.#attempt
    this.#connectedAt = performance.now()
    this.options.onConnected()
    this.#store.set({ status: 'catching-up', reconnectInMs: null })
    if (attempt !== this.#attempt) return
    await new Promise<void>((resolve) => {
      this.#timer = setTimeout(resolve, SUBSCRIBE_TIMEOUT_MS)
      this.#subscriptions.whenSettled(resolve)
    })
    if (attempt !== this.#attempt) return
    clearTimeout(this.#timer)
    await this.#catchUp()
  }

  async #catchUp() {
    const attempt = this.#attempt
    const lastError = await this.options.catchUp().then(() => undefined, toChatError)
    if (attempt !== this.#attempt) return
    // Parley knows each path that is asked here: otherwise the url is another server's.
    const isRetried = lastError && (lastError.retryable || [404, 405].includes(lastError.status))
    if (isRetried) this.#catchUpRetries.later(lastError)
    // First: a listener may learn that the connection is lost.
    if (!isRetried) this.#whenLive?.resolve()
    const status = isRetried ? 'catching-up' : 'live'
    this.#store.set({ status, reconnectInMs: null, lastError })
  }

  #reconnectLater(lastError: ChatError) {
    if (!this.#whenLive) return
    this.#abandonAttempt()
    const connectedMs = performance.now() - (this.#connectedAt ?? performance.now())
    this.#failures = connectedMs > STABLE_MS ? 1 : this.#failures + 1
    this.#connectedAt = undefined
    const backoffMs = pause('background', this.#failures)
    const reconnectInMs = Math.ceil(Math.max(this.options.tokens.retryInMs, backoffMs))
    this.#timer = setTimeout(() => void this.#connect(), reconnectInMs)
    this.#store.set({ status: 'offline', reconnectInMs, lastError })
  }
}

const connectionLost = (reason: string, refused = '') =>
  new ChatError(`no connection${refused}: ${reason}`, { code: 'NETWORK_ERROR' })
