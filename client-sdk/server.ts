import { type ImportSource, sendImport } from './backend/import.ts'
import { type MessageStream, openStream, type StreamOptions } from './backend/stream.ts'
import { createCalls } from './calls/calls.ts'
import { createGate, type Gate } from './calls/retry.ts'
import { operations } from './generated/operations.ts'
import type { Api, ImportReport, ServerApi, UserApi } from './generated/types.ts'

export type { ImportSource } from './backend/import.ts'
export type { MessageStream, StreamOptions } from './backend/stream.ts'
export {
  verifyBeforeSend,
  verifyWebhook,
  type WebhookEvent,
  type WebhookRequest,
  WebhookVerificationError,
} from './backend/webhooks.ts'
export { ChatError, type ChatErrorCode, isChatError } from './calls/error.ts'
export type {
  BeforeSendAnswer,
  BeforeSendQuestion,
  ImportRecord,
  ImportReport,
  ServerApi,
  TokenResult,
  UserApi,
  WebhookEvents,
} from './generated/types.ts'

/** Options of `createChatServer`. */
export type ChatServerOptions = {
  /** The server's address: `https://chat.example.com`. */
  url: string
  /** A server API key of the app. */
  apiKey: string
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch | undefined
}

/** The operations of a backend: its own, and by `as` those of its users. */
export type ChatServer = Omit<ServerApi, 'imports'> & {
  /** The import of another system's records. */
  imports: {
    /**
     * Imports records, or the bytes of a file of them, while they come: `POST /import`. It has no
     * time limit of its own, and is not retried; a repetition is safe. If the source fails, it
     * rejects with `ABORTED`, and the source's error as `cause`.
     */
    run: (source: ImportSource, options?: { signal?: AbortSignal }) => Promise<ImportReport>
  }
  /**
   * The operations of a user, carried out as that user and with their rights. An unknown id makes
   * a new user, as `tokens.create` does. The calls count for the API key.
   */
  as: (userId: string) => ServerUserApi
}

/** The operations of a backend that acts as a user. */
export type ServerUserApi = UserApi & {
  /** Sends a message whose text is written bit by bit, as by an assistant. */
  stream: (channelId: string, options?: StreamOptions) => MessageStream
}

/**
 * For backends, never for browsers: every operation that an API key may call. Calls reject with a
 * ChatError, and are retried where repeating them is safe.
 */
export function createChatServer({ url, apiKey, fetch }: ChatServerOptions): ChatServer {
  const gate = createRateGate()
  const callsWith = (headers: Record<string, string>, limits = gate) =>
    createCalls<Api>({
      operations,
      url,
      fetch,
      headers: async () => ({ 'x-api-key': apiKey, ...headers }),
      tries: 4,
      gate: limits,
    })
  const as = (userId: string): ServerUserApi => {
    const api = callsWith({ 'x-user-id': userId }, withOwnAppends(gate))
    return { ...api, stream: (channelId, options) => openStream(api, channelId, options) }
  }
  const imports: ChatServer['imports'] = {
    run: (source, options) => sendImport({ url, apiKey, fetch, source, ...options }),
  }
  return { ...callsWith({}), imports, as }
}

/** Of a server each call tries for itself whether Parley can be reached. */
const createRateGate = (): Gate => ({ ...createGate(), fail: () => {} })

/** Appends count for the user who writes, all other calls for the key. */
function withOwnAppends(shared: Gate): Gate {
  const own = createRateGate()
  const gateOf = (limit: string) => (limit === 'appends' ? own : shared)
  return {
    ...shared,
    refusalOf: (limit) => gateOf(limit).refusalOf(limit),
    takeResult: (limit, result) => gateOf(limit).takeResult(limit, result),
  }
}
