import type { CallOptions } from './call-options.ts'
import { ChatError } from './error.ts'
import type { ErrorCode } from './types.ts'

export type Request = {
  url: string
  method: string
  path: string
  args: Record<string, unknown>
  headers: Record<string, string>
  fetch: typeof fetch
}

/** One request to the server, one answer: its body, or a ChatError. */
export async function request(
  { url, method, path: template, args, headers, fetch }: Request,
  { signal, timeoutMs = 15_000 }: CallOptions,
) {
  const { path, rest } = fillPath(template, args)
  const isInQuery = method === 'GET' || method === 'DELETE'
  const deadline = AbortSignal.timeout(timeoutMs)
  const toError = (cause: unknown) => {
    if (signal?.aborted) return new ChatError('the call was aborted', { code: 'ABORTED', cause })
    if (deadline.aborted)
      return new ChatError(`no answer within ${timeoutMs} ms`, { code: 'TIMEOUT', cause })
    return new ChatError(`unable to reach ${url}`, { code: 'NETWORK_ERROR', cause })
  }
  try {
    const response = await fetch(url + path + (isInQuery ? toQuery(rest) : ''), {
      method,
      headers: isInQuery ? headers : { ...headers, 'content-type': 'application/json' },
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
      ...(isInQuery ? {} : { body: JSON.stringify(rest) }),
    })
    const text = await response.text()
    return response.ok ? (JSON.parse(text) as unknown) : refusal(response, text)
  } catch (cause) {
    throw toError(cause)
  }
}

/** A refusal is a value here, so that it is not taken for a failure of the network. */
function refusal({ status, headers }: Response, text: string) {
  const { code, message } = errorOf(text) ?? {
    code: status === 503 ? 'UNAVAILABLE' : 'INTERNAL_ERROR',
    message: `the server answered ${status}`,
  }
  const retryAfter = headers.get('retry-after')
  return new ChatError(message, {
    code,
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterMs: retryAfter === null ? undefined : Number(retryAfter) * 1000,
  })
}

function errorOf(text: string): { code: ErrorCode; message: string } | undefined {
  try {
    return JSON.parse(text).error
  } catch {
    return undefined
  }
}

function fillPath(template: string, args: Record<string, unknown>) {
  const rest = { ...args }
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    delete rest[name]
    return encodeURIComponent(String(args[name]))
  })
  return { path, rest }
}

const toQuery = (fields: Record<string, unknown>) => {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`
}
