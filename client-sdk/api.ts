import { request } from './call.ts'
import type { CallOptions } from './call-options.ts'
import { ChatError, isChatError } from './error.ts'
import { idempotent, operations } from './operations.ts'
import { backoff, delay } from './timing.ts'
import type { Api } from './types.ts'

/** Who calls: a user by his bearer token, a backend by its API key, the operator by the admin key, or nobody. */
export type Credentials = { token?: string; apiKey?: string; adminKey?: string }
/** What `createApi` needs: the server's address, and who calls. */
export type ApiOptions = Credentials & {
  /** Where the server is: `https://chat.example.com`. */
  url: string
  /** What calls go through instead of the global `fetch`. */
  fetch?: typeof fetch
}

/** A plain client for the operations of a Parley server: no retries, no token renewal. Calls reject with a ChatError. */
export const createApi = ({ url, fetch, ...credentials }: ApiOptions): Api =>
  createCalls({ url, fetch, headers: async () => credentialHeaders(credentials), attempts: 1 })

type CallerOptions = {
  url: string
  fetch?: typeof fetch | undefined
  headers: () => Promise<Record<string, string>>
  /** Told that credentials were refused; whether there are others to try, once. */
  renew?: (headers: Record<string, string>) => Promise<boolean>
  attempts: number
}

/** Every operation as a method, by noun. */
export function createCalls({
  url,
  fetch = (...given) => globalThis.fetch(...given),
  headers,
  renew,
  attempts,
}: CallerOptions): Api {
  const base = url.replace(/\/+$/, '')

  const once = async (operation: Operation, args: Args, options: CallOptions) => {
    const sent = await headers()
    const [method = '', path = ''] = operation.route.split(' ')
    const answer = await request({ url: base, method, path, args, headers: sent, fetch }, options)
    return isChatError(answer) ? { refusal: answer, sent } : { answer, sent }
  }
  const renewing = async (operation: Operation, args: Args, options: CallOptions) => {
    const first = await once(operation, args, options)
    const isWorthAnother =
      first.refusal?.code === 'INVALID_TOKEN' && renew && (await renew(first.sent))
    const { refusal, answer } = isWorthAnother ? await once(operation, args, options) : first
    if (refusal) throw refusal
    return answer
  }
  const call = async (
    operation: Operation,
    args: Args = {},
    options: CallOptions = {},
  ): Promise<unknown> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await renewing(operation, args, options)
      } catch (error) {
        const pauseMs =
          attempt < attempts
            ? pauseBefore(error, { attempt, isRepeatable: isRepeatable(operation, args) })
            : undefined
        if (pauseMs === undefined) throw error
        await delay(pauseMs, options.signal)
      }
    }
  }
  const methods = (group: string, routes: Record<string, string>) =>
    mapEntries(
      routes,
      (name, route) => (args?: Args, options?: CallOptions) =>
        call({ name: `${group}.${name}`, route }, args, options),
    )
  return mapEntries(operations, methods) as unknown as Api // the same groups and names: both are generated from the contract
}

type Args = Record<string, unknown>
type Operation = { name: string; route: string }

/** Longer than this nobody waits for a limit to pass without knowing. */
const LONGEST_PAUSE_MS = 10_000

/** How long to wait before the call is worth another attempt; undefined when it is not. */
function pauseBefore(
  error: unknown,
  { attempt, isRepeatable }: { attempt: number; isRepeatable: boolean },
) {
  if (
    !(error instanceof ChatError) ||
    !['NETWORK_ERROR', 'RATE_LIMITED', 'UNAVAILABLE'].includes(error.code)
  )
    return undefined
  // A call over its limit was not carried out; of all others nobody knows.
  if (!isRepeatable && error.code !== 'RATE_LIMITED') return undefined
  const pauseMs = Math.max(
    error.retryAfterMs ?? 0,
    backoff(attempt, { leastMs: 300, mostMs: 5_000 }),
  )
  return pauseMs <= LONGEST_PAUSE_MS ? pauseMs : undefined
}

/** Whether a second call has the effect and the result of one. */
const isRepeatable = ({ name, route }: Operation, args: Args) =>
  route.startsWith('GET ') || idempotent.has(name) || args.clientId !== undefined

const credentialHeaders = ({ token, apiKey, adminKey }: Credentials): Record<string, string> => ({
  ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }),
  ...(adminKey === undefined ? {} : { 'x-admin-key': adminKey }),
})

const mapEntries = <Value, Result>(
  object: Record<string, Value>,
  map: (key: string, value: Value) => Result,
): Record<string, Result> =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(key, value)]))
