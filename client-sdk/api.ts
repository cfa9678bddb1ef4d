import { sendRequest } from './call.ts'
import type { CallOptions } from './call-options.ts'
import { isChatError } from './error.ts'
import { idempotent, limits, operations } from './operations.ts'
import { pauseBeforeRetry, type RateGate } from './retry.ts'
import { delay } from './timing.ts'
import type { Api } from './types.ts'

/** A user's bearer token, a backend's API key, the operator's admin key, or none of them. */
export type Credentials = { token?: string; apiKey?: string; adminKey?: string }
/** Options of `createApi`: the server's address and the caller's credentials. */
export type ApiOptions = Credentials & {
  /** The server's address: `https://chat.example.com`. */
  url: string
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch
}

/** Every operation as a plain call: no retries, no token renewal. Calls reject with a ChatError. */
export const createApi = ({ url, fetch, ...credentials }: ApiOptions): Api =>
  createCalls({ url, fetch, headers: async () => credentialHeaders(credentials), attempts: 1 })

type CallsOptions = {
  url: string
  fetch?: typeof fetch | undefined
  headers: () => Promise<Record<string, string>>
  /**
   * Called if the server rejects the credentials; true if the call should be retried with new ones.
   */
  renew?: (headers: Record<string, string>) => Promise<boolean>
  /** How often a call that may be repeated is tried. */
  attempts: number
  /** Shared by all calls of a client. */
  gate?: RateGate
}

/** Every operation as a method, by noun. */
export function createCalls({
  url,
  fetch = (...given) => globalThis.fetch(...given),
  headers,
  renew,
  attempts,
  gate,
}: CallsOptions): Api {
  const base = url.replace(/\/+$/, '')

  const send = async (operation: Operation, args: Args, options: CallOptions) => {
    const limit = limits[operation.name] ?? 'requests'
    const refusal = gate?.refusalOf(limit)
    if (refusal) throw refusal
    const sentHeaders = await headers()
    const [method = '', path = ''] = operation.route.split(' ')
    const request = { url: base, method, path, args, headers: sentHeaders, fetch }
    const result = await sendRequest(request, options)
    if (!isChatError(result)) return { result, sentHeaders }
    gate?.record(limit, result)
    return { error: result, sentHeaders }
  }
  const sendWithRenewal = async (operation: Operation, args: Args, options: CallOptions) => {
    const first = await send(operation, args, options)
    const isRenewed =
      first.error?.code === 'INVALID_TOKEN' && renew && (await renew(first.sentHeaders))
    const { error, result } = isRenewed ? await send(operation, args, options) : first
    if (error) throw error
    return result
  }
  const call = async (
    operation: Operation,
    args: Args = {},
    options: CallOptions = {},
  ): Promise<unknown> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await sendWithRenewal(operation, args, options)
      } catch (error) {
        const delayMs =
          attempt < attempts
            ? pauseBeforeRetry(error, { attempt, isRepeatable: isRepeatable(operation, args) })
            : undefined
        if (delayMs === undefined) throw error
        await delay(delayMs, options.signal)
      }
    }
  }
  const methods = (noun: string, routes: Record<string, string>) =>
    mapEntries(
      routes,
      (verb, route) => (args?: Args, options?: CallOptions) =>
        call({ name: `${noun}.${verb}`, route }, args, options),
    )
  // The same nouns and verbs: both are generated from the contract.
  return mapEntries(operations, methods) as unknown as Api
}

type Args = Record<string, unknown>
type Operation = { name: string; route: string }

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
