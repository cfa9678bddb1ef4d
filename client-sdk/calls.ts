import { sendRequest } from './call.ts'
import type { CallOptions } from './call-options.ts'
import { isChatError } from './error.ts'
import { pauseBeforeRetry, type RateGate } from './retry.ts'
import { delay } from './timing.ts'

/** Operations by noun and verb. Names are written `noun.verb`. */
export type OperationTable = {
  /**
   * The method and the path of each: `PUT* /path` if two calls have the effect and the result of
   * one. Those with GET always have.
   */
  routes: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** The rate limit that a call counts against, unless it is the one of requests. */
  limits: Readonly<Record<string, string>>
}

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
  attempts: number
  /** Shared by all calls of a client. */
  gate?: RateGate
}

/** Each operation of a table as a method, by noun: `Calls` are the types of that table. */
export function createCalls<Calls>({
  operations: { routes, limits },
  url,
  fetch = (...given) => globalThis.fetch(...given),
  headers,
  renew,
  attempts,
  gate,
}: CallsOptions): Calls {
  const base = url.replace(/\/+$/, '')

  const send = async (operation: Operation, args: Args, options: CallOptions) => {
    const limit = limits[operation.name] ?? 'requests'
    const refusal = gate?.refusalOf(limit)
    if (refusal) throw refusal
    const sentHeaders = await headers()
    const [method = '', path = ''] = operation.route.split(/\*? /)
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
  /** Whether a second call has the effect and the result of one. */
  const isRepeatable = ({ route }: Operation, args: Args) =>
    /^GET|\* /.test(route) || args.clientId !== undefined
  const methods = (noun: string, verbs: Readonly<Record<string, string>>) =>
    mapEntries(
      verbs,
      (verb, route) => (args?: Args, options?: CallOptions) =>
        call({ name: `${noun}.${verb}`, route }, args, options),
    )
  // The same nouns and verbs: both are generated from the contract.
  return mapEntries(routes, methods) as unknown as Calls
}

type Args = Record<string, unknown>
type Operation = { name: string; route: string }

const mapEntries = <Value, Result>(
  object: Readonly<Record<string, Value>>,
  map: (key: string, value: Value) => Result,
): Record<string, Result> =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(key, value)]))
