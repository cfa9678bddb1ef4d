import { whatToCheck } from '../shared/platform.ts'
import { ChatError } from './error.ts'
import { classify, parseRetryAfter } from './retry.ts'

type ApiRequest = {
  url: string
  method: string
  path: string
  args: Record<string, unknown>
  headers: Record<string, string>
  fetch: typeof fetch
  signal: AbortSignal
}

/**
 * Sends one request. Resolves to the body, or to the server's error as a value; rejects if no
 * response came, so that the two are not confused.
 */
export async function sendRequest({
  url,
  method,
  path: template,
  args,
  headers,
  fetch,
  signal,
}: ApiRequest) {
  const { path, fields } = fillPath(template, args)
  const isInQuery = method === 'GET' || method === 'DELETE'
  try {
    const response = await fetch(url + path + (isInQuery ? toQuery(fields) : ''), {
      method,
      headers: isInQuery ? headers : { ...headers, 'content-type': 'application/json' },
      signal,
      body: isInQuery ? null : JSON.stringify(fields),
    })
    const text = await response.text()
    return response.ok ? (JSON.parse(text) as unknown) : toServerError(response, text)
  } catch (cause) {
    const what =
      cause instanceof SyntaxError
        ? `${url} did not answer in JSON; is the url right?`
        : `unable to reach ${url}${whatToCheck()}`
    throw new ChatError(what, { code: 'NETWORK_ERROR', cause })
  }
}

/** The error that a response contains. */
export function toServerError({ status, headers }: Response, text: string) {
  const { code, message } = classify(status, text)
  const requestId = headers.get('x-request-id') ?? undefined
  return new ChatError(message, { code, status, requestId, retryAfterMs: parseRetryAfter(headers) })
}

/** The path with its parameters, and the arguments that are left. */
function fillPath(template: string, args: Record<string, unknown>) {
  const fields = { ...args }
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    delete fields[name]
    return encode(args[name])
  })
  return { path, fields }
}

const toQuery = (fields: Record<string, unknown>) => {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  const texts = given.map((each) => each.map(encode).join('='))
  return texts.length === 0 ? '' : `?${texts.join('&')}`
}

/**
 * Encodes a value as a part of an address. `URLSearchParams` is not used, because that of React
 * Native before 0.80 misreads pairs. Half of an emoji, as where a text was cut, cannot be encoded
 * and is replaced.
 */
const encode = (value: unknown) =>
  encodeURIComponent(String(value).replace(/[\ud800-\udfff]/gu, '\ufffd'))
