import { type Args, type Contract, contract, ErrorBody, type Operation, type Output, pathParameters } from '@parley/contract'
import { ChatError } from './error.ts'

/** `api.messages.send({ channelId, text })`: every operation of the contract as a typed method, by noun. */
export type Api = {
  [Group in keyof Contract]: {
    [Name in keyof Contract[Group]]: Contract[Group][Name] extends Operation ? Method<Args<Contract[Group][Name]>, Output<Contract[Group][Name]>> : never
  }
}
// biome-ignore lint/complexity/noBannedTypes: only the empty object type tells whether every field may be left out
type Method<Input, Result> = {} extends Input ? (args?: Input) => Promise<Result> : (args: Input) => Promise<Result>

/** Who calls: a user by his bearer token, a backend by its API key, the operator by the admin key, or nobody. */
export type Credentials = { token?: string; apiKey?: string; adminKey?: string }
export type ApiOptions = Credentials & { url: string; fetch?: typeof fetch }

/** A client for the operations of a Parley server. Calls reject with a ChatError. */
export function createApi(options: ApiOptions): Api {
  const method =
    (op: Operation) =>
    (args: Record<string, unknown> = {}) =>
      call(options, op, args)
  const methods = (group: Record<string, Operation>) => mapValues(group, method)
  return mapValues(contract, methods) as unknown as Api // the same groups and names, by construction
}

async function call({ url, fetch = globalThis.fetch, ...credentials }: ApiOptions, op: Operation, args: Record<string, unknown>) {
  const { path, rest } = fillPath(op.path, args)
  const isInQuery = op.method === 'GET' || op.method === 'DELETE'
  const response = await fetch(url + path + (isInQuery ? toQuery(rest) : ''), {
    method: op.method,
    headers: { ...credentialHeaders(credentials), ...(isInQuery ? {} : { 'content-type': 'application/json' }) },
    ...(isInQuery ? {} : { body: JSON.stringify(rest) }),
  }).catch((cause: unknown) => {
    throw new ChatError(`unable to reach ${url}`, { code: 'NETWORK_ERROR', status: 0, cause })
  })
  const body: unknown = await response.json().catch(() => undefined)
  if (response.ok) return body
  throw toChatError(response, body)
}

function toChatError({ status, headers }: Response, body: unknown) {
  const parsed = ErrorBody.safeParse(body)
  const { code, message } = parsed.data?.error ?? { code: 'INTERNAL_ERROR' as const, message: `the server answered ${status}` }
  const retryAfter = headers.get('retry-after')
  return new ChatError(message, {
    code,
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterMs: retryAfter === null ? undefined : Number(retryAfter) * 1000,
  })
}

function fillPath(template: string, args: Record<string, unknown>) {
  const names = new Set(pathParameters(template))
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(args[name])))
  return { path, rest: Object.fromEntries(Object.entries(args).filter(([name]) => !names.has(name))) }
}

const toQuery = (fields: Record<string, unknown>) => {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  return given.length === 0 ? '' : `?${new URLSearchParams(Object.fromEntries(given.map(([name, value]) => [name, String(value)])))}`
}

const credentialHeaders = ({ token, apiKey, adminKey }: Credentials): Record<string, string> => ({
  ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }),
  ...(adminKey === undefined ? {} : { 'x-admin-key': adminKey }),
})

const mapValues = <Value, Result>(object: Record<string, Value>, map: (value: Value) => Result): Record<string, Result> =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]))
