import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { readUpTo } from '../../core/guarded-request.ts'
import { inSpan } from '../../core/spans.ts'
import { traceparentOf } from '../../core/trace.ts'
import { withTimeout } from '../../core/with-timeout.ts'
import { jobTraces } from '../job-trace.ts'
import { secondsUntil } from '../retry-after.ts'
import { timings as defaults, type Timings } from '../timings.ts'
import type { PushSettings } from './settings.ts'

type Unavailable = { status?: number; retryAfterSeconds?: number; cause?: unknown }

/**
 * The provider did not answer, failed, asked us to come back later, or refused the call for a
 * reason other than its content, like a wrong key.
 */
export class ProviderUnavailableError extends Error {
  override readonly name = 'ProviderUnavailableError'
  readonly status: number | undefined
  readonly retryAfterSeconds: number
  constructor(message: string, { status, retryAfterSeconds = 0, cause }: Unavailable = {}) {
    super(message, { cause })
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** The provider refused the content of the call. Trying again would not help. */
export class ProviderRefusedError extends Error {
  override readonly name = 'ProviderRefusedError'
}

/** The most bytes of an answer that are read. The longest that we know has some 100 KB. */
const MAX_ANSWER_BYTES = 1024 * 1024

/** The statuses that concern the content of a call: it is invalid, or too large. */
const CONTENT_REFUSED = [400, 413, 422]

export type ProviderTimings = Pick<Timings, 'pushTimeoutMs'>
type CallOptions = { body?: object; timeoutMs?: number; signal?: AbortSignal }

/** Calls the provider's API. Resolves with the body, or throws one of the two errors above. */
export const createProviderCall =
  (
    { apiUrl, secretKey }: Pick<PushSettings, 'apiUrl' | 'secretKey'>,
    { pushTimeoutMs }: ProviderTimings = defaults,
  ) =>
  async (
    method: string,
    path: string,
    { body, timeoutMs = pushTimeoutMs, signal }: CallOptions = {},
  ) => {
    const [trace] = jobTraces.getStore() ?? []
    const initOf = (traceContext: string | undefined) =>
      ({
        method,
        headers: {
          authorization: `ApiKey ${secretKey}`,
          ...traceparent(traceContext, trace),
          ...(body ? { 'content-type': 'application/json' } : {}),
        },
        redirect: 'error',
        ...(body ? { body: JSON.stringify(body) } : {}),
      }) as const
    const { status, retryAfterSeconds, text, isCut } = await inSpan(
      () => ({
        name: `push ${method}`,
        kind: 'client',
        attributes: { 'url.path': withoutIds(path) },
      }),
      (span) =>
        withTimeout(timeoutMs, signal, (signal) =>
          request(requestOf(`${apiUrl}${path}`, { ...initOf(span?.traceContext), signal })),
        ),
    )
    // A proxy may answer with what it was sent.
    const quoted = text.replaceAll(secretKey, '…').slice(0, 200)
    const message = `${method} ${path} answered ${status}: ${quoted}`
    if (CONTENT_REFUSED.includes(status)) throw new ProviderRefusedError(message)
    if (status >= 400) throw new ProviderUnavailableError(message, { status, retryAfterSeconds })
    if (isCut)
      throw new ProviderUnavailableError(
        `${method} ${path} answered ${status} with more than ${MAX_ANSWER_BYTES} bytes`,
      )
    return text
  }

/** The path as logs and traces show it: a user's id may be an e-mail address. */
const withoutIds = (path: string) => path.replace(/(\/subscribers\/)[^/]+/, '$1:id')

/** The context of the call's span, or else of the trace that the job belongs to. */
function traceparent(
  traceContext: string | undefined,
  trace: string | undefined,
): Record<string, string> {
  if (traceContext !== undefined) return { traceparent: `00-${traceContext}` }
  return trace === undefined ? {} : { traceparent: traceparentOf(trace) }
}

/** Without the cause: what is thrown for a bad header or URL quotes it, with its secret. */
function requestOf(url: string, init: RequestInit) {
  try {
    return new Request(url, init)
  } catch {
    const message = `${init.method} ${new URL(url).pathname} cannot be made of these settings`
    throw new ProviderUnavailableError(message)
  }
}

async function request(request: Request) {
  try {
    const response = await fetch(request)
    return {
      status: response.status,
      retryAfterSeconds: secondsUntil(
        response.headers.get('retry-after') ?? undefined,
        response.headers.get('date') ?? undefined,
      ),
      ...(await readText(response)),
    }
  } catch (error) {
    const message = `${request.method} ${new URL(request.url).pathname} got no answer`
    throw new ProviderUnavailableError(message, { cause: error })
  }
}

async function readText({ body }: Response) {
  if (!body) return { text: '', isCut: false }
  const stream = Readable.fromWeb(body as ReadableStream) // the same, as Node declares it
  const bytes = await readUpTo(stream, MAX_ANSWER_BYTES + 1)
  return { text: new TextDecoder().decode(bytes), isCut: bytes.length > MAX_ANSWER_BYTES }
}
