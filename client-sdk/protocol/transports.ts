import type { StreamSocket } from './stream-socket.ts'

/** The transport of a session. */
export type Socket = WebSocket | StreamSocket

type TransportsOptions = {
  webSocket: () => typeof globalThis.WebSocket
  fetch: typeof globalThis.fetch
  /** Called when a WebSocket could be opened while a stream took its place. */
  onWebSocket: () => void
}

/**
 * Chooses the transport of sessions: WebSockets, unless none has connected in this network and the
 * last one failed. After that, streams and WebSockets take turns until one connects.
 */
export class Transports {
  #isStream = false
  /** Loaded only when it is needed. */
  #streams: typeof import('./stream-socket.ts') | undefined
  /** Whether a WebSocket has connected since the network changed. */
  #hasWorked = false
  /** Ends the wait for the next attempt with a WebSocket, or the attempt. */
  #stopTrying = () => {}

  constructor(readonly options: TransportsOptions) {}

  openSocket(url: string): Socket {
    this.#stopTrying()
    if (this.#isStream && this.#streams?.canStream(url))
      return new this.#streams.StreamSocket(url, this.options.fetch)
    this.#isStream = false
    return this.#open(url)
  }

  /** Notes that the session over the last socket was accepted. */
  connected(url: string) {
    if (!this.#isStream) this.#hasWorked = true
    else if (this.#streams)
      this.#stopTrying = this.#streams.tryLater(
        () => this.#open(url),
        () => {
          this.forget()
          this.options.onWebSocket()
        },
      )
  }

  #open(url: string) {
    return new (this.options.webSocket())(url)
  }

  /**
   * Notes that the last socket ended before its session was accepted. Resolves when the next may
   * open.
   */
  async failed() {
    this.#isStream = !this.#isStream && !this.#hasWorked
    if (!this.#isStream) return
    // If it cannot be loaded, as in a service worker, WebSockets remain.
    this.#streams ??= await import('./stream-socket.ts').catch(() => undefined)
  }

  /** Stops: no socket is wanted for now. */
  halt() {
    this.#stopTrying()
  }

  /** Forgets what it has learned: the network may have changed. */
  forget() {
    this.#isStream = false
    this.#hasWorked = false
  }
}
