import { createCalls } from './api.ts'
import type { ServerApi } from './types.ts'

export { ChatError, type ChatErrorCode, isChatError } from './error.ts'
export type { ServerApi, TokenResult } from './types.ts'

/** What `createChatServer` needs. */
export type ChatServerOptions = {
  /** Where the server is: `https://chat.example.com`. */
  url: string
  /** A server API key of the app. */
  apiKey: string
  /** What calls go through instead of the global `fetch`. */
  fetch?: typeof fetch | undefined
}

/** For backends: every operation that an API key may call. Rejects with a ChatError; repeated where that is safe. Never to be used in a browser. */
export const createChatServer = ({ url, apiKey, fetch }: ChatServerOptions): ServerApi =>
  createCalls({ url, fetch, headers: async () => ({ 'x-api-key': apiKey }), attempts: 4 })
