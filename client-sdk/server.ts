import { createCalls } from './api.ts'
import { createRateGate } from './retry.ts'
import type { ServerApi } from './types.ts'

export { ChatError, type ChatErrorCode, isChatError } from './error.ts'
export type { ServerApi, TokenResult } from './types.ts'

/** Options of `createChatServer`. */
export type ChatServerOptions = {
  /** The server's address: `https://chat.example.com`. */
  url: string
  /** A server API key of the app. */
  apiKey: string
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch | undefined
}

/**
 * For backends, never for browsers: every operation that an API key may call. Calls reject with a
 * ChatError, and are retried where repeating them is safe.
 */
export const createChatServer = ({ url, apiKey, fetch }: ChatServerOptions): ServerApi =>
  createCalls({
    url,
    fetch,
    headers: async () => ({ 'x-api-key': apiKey }),
    attempts: 4,
    gate: createRateGate(),
  })
