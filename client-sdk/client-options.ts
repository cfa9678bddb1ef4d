import type { Snapshots } from './backing-store/snapshot-source.ts'
import type { OutboxStorage } from './backing-store/storage.ts'
import type { TokenProvider } from './realtime/tokens.ts'

/** Options of `createChatClient`. */
export type ChatClientOptions = {
  /** The server's address: `https://chat.example.com`. */
  url: string
  /**
   * Resolves to what your backend got from `POST /tokens`; called again before the token expires.
   */
  token: TokenProvider
  /** Where unsent messages are stored; by default `indexeddb` in browsers, `memory` elsewhere. */
  storage?: 'indexeddb' | 'memory' | OutboxStorage | undefined
  /**
   * The user of this client. With it the client shows and keeps what this user has seen and written
   * before there is a network or a token, and a token of another user is an error.
   */
  userId?: string | undefined
  /** Stores the last channels and messages: `indexedDbSnapshots()`; none by default. */
  snapshots?: Snapshots | undefined
  /** Replaces the global `fetch`, for example in tests or to simulate an outage. */
  fetch?: typeof fetch | undefined
  /** Replaces the global `WebSocket` (in Node.js, that of `ws`). */
  webSocket?: typeof WebSocket | undefined
  /** Called with errors that no caller can catch; `console.error` by default. */
  onError?: ((error: unknown) => void) | undefined
}
