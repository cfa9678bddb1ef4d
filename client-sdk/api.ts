import { createCalls } from './calls/calls.ts'
import { operations } from './generated/operations.ts'
import type { Api } from './generated/types.ts'

export type { CallOptions } from './calls/call-options.ts'
export { ChatError, type ChatErrorCode, isChatError } from './calls/error.ts'
export type * from './generated/types.ts'

/** A user's bearer token, a backend's API key, the operator's admin key, or none of them. */
export type Credentials = {
  /** A user's token, for the operations of that user. */
  token?: string
  /** An app's key, for the operations of a backend. */
  apiKey?: string
  /** The server's admin key, for the operations on apps. */
  adminKey?: string
}
/** Options of `createApi`: the server's address and the caller's credentials. */
export type ApiOptions = Credentials & {
  /** The server's address: `https://chat.example.com`. */
  url: string
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch
}

/** Every operation as a plain call: no retries, no token renewal. Calls reject with a ChatError. */
export const createApi = ({ url, fetch, ...credentials }: ApiOptions): Api =>
  createCalls<Api>({
    operations,
    url,
    fetch,
    headers: async () => credentialHeaders(credentials),
    tries: 1,
  })

const credentialHeaders = ({ token, apiKey, adminKey }: Credentials): Record<string, string> => ({
  ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }),
  ...(adminKey === undefined ? {} : { 'x-admin-key': adminKey }),
})
