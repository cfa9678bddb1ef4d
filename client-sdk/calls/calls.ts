import { withDeadline } from '../shared/timing.ts'
import { sendRequest } from './call.ts'
import type { CallOptions } from './call-options.ts'
import { isChatError, toChatError } from './error.ts'
import { delay, type Gate, pauseBeforeRetry } from './retry.ts'

/**
 * Routes by noun and verb: the method, `*` if two calls have the effect and the result of one (as
 * those with GET always have), `#` and the rate limit that a call counts against unless it is the
 * one of requests, and the path.
 */
export type OperationTable = Readonly<Record<string, Readonly<Record<string, string>>>>
const ROUTE = /^([A-Z]+)\*?(?:#(\w+))? (.*)/

type CallsOptions = {
  operations: OperationTable
  url: string
  fetch?: typeof fetch | undefined
  headers: () => Promise<Record<string, string>>
  /**
   * Called if the server rejects the credentials; true if the call should be retried with new ones.
   */
  renew?: (headers: Record<string, string>) => Promise<boolean>
  /** How often a call that may be repeated is tried. */
  tries: number
  /** Shared by all calls of a client. */
  gate?: Pick<Gate, 'refusalOf' | 'takeResult' | 'fail'>
}

/** Each operation of a table as a method, by noun: `Calls` are the types of that table. */
export function createCalls<Calls>({
  operations,
  url,
  fetch = (...given) => globalThis.fetch(...given),
  headers,
  renew,
  tries,
  gate,
}: CallsOptions): Calls {
  const base = url.replace(/\/+$/, '')

  const send = async (route: string, args: Args, signal: AbortSignal) => {
    const [, method = '', limit = 'requests', path = ''] = ROUTE.exec(route) ?? []
    const refusal = gate?.refusalOf(limit)
    if (refusal) throw refusal
    const sentHeaders = await headers()
    // The time is over, and nobody waits for the answer.
    if (signal.aborted) throw new Error('aborted')
    const request = { url: base, method, path, args, headers: sentHeaders, fetch, signal }
    const result = await sendRequest(request).catch((error) => {
      if (!signal.aborted) gate?.fail(error)
      throw error
    })
    gate?.takeResult(limit, result)
    return { result, sentHeaders }
  }
  const sendWithRenewal = async (route: string, args: Args, signal: AbortSignal) => {
    const first = await send(route, args, signal)
    const isRenewed =
      isChatError(first.result, 'INVALID_TOKEN') && (await renew?.(first.sentHeaders))
    const { result } = isRenewed ? await send(route, args, signal) : first
    if (isChatError(result)) throw result
    return result
  }
  const methodOf =
    (route: string) =>
    (args: Args = {}, options: CallOptions = {}) =>
      withDeadline(options, async (signal, leftMs) => {
        for (let attempt = 1; ; attempt++) {
          try {
            return await sendWithRenewal(route, args, signal)
          } catch (cause) {
            const error = toChatError(cause)
            const delayMs =
              attempt < tries
                ? pauseBeforeRetry(error, { attempt, isRepeatable: isRepeatable(route, args) })
                : undefined
            if (delayMs === undefined || delayMs > leftMs() || signal.aborted) throw error
            await delay(delayMs, { error, signal })
          }
        }
      })
  // The same nouns and verbs: both are generated from the contract.
  return mapValues(operations, (verbs) => mapValues(verbs, methodOf)) as unknown as Calls
}

type Args = Record<string, unknown>

/** Whether a second call has the effect and the result of one. */
const isRepeatable = (route: string, args: Args) =>
  /^(GET|\w+\*)/.test(route) || args.clientId !== undefined

const mapValues = <Value, Result>(
  object: Readonly<Record<string, Value>>,
  map: (value: Value) => Result,
): Record<string, Result> =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]))
