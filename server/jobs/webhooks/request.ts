import type { IncomingMessage } from 'node:http'
import { type Envelope, parseTopic } from '@parley/contract'
import { type GuardedRequest, readUpTo, UnfetchableError } from '../../core/guarded-request.ts'
import { signedHeaders } from '../../core/signed-request.ts'
import { inSpan, type Span } from '../../core/spans.ts'
import { envelopeIn } from '../../core/stored-envelope.ts'
import { withTimeout } from '../../core/with-timeout.ts'
import { secondsUntil } from '../retry-after.ts'

/** The outcome of trying a delivery. */
export type DeliveryOutcome = {
  isDelivered: boolean
  /** Whether the receiver answered 410: it is gone. */
  isGone: boolean
  responseStatus: number | null
  error: string | null
  retryAfterSeconds: number
}
/** An event as it is stored. */
export type LoggedEvent = {
  topic: string
  offset: number
  messageId: string | null
  envelope: string
  createdAt: string
}

/** The most bytes of an answer that are read: only its status matters. */
const MAX_ANSWER_BYTES = 4 * 1024

/** The body of a delivery: the payload of the event, and where it belongs. */
export function bodyOf(appId: string, event: LoggedEvent) {
  const { topic, offset, createdAt } = event
  const { type, payload }: Envelope = JSON.parse(envelopeIn(event))
  const ref = parseTopic(topic)
  const position = ref?.kind === 'user' ? { userId: ref.userId } : { rev: offset }
  return JSON.stringify({ type, timestamp: createdAt, appId, data: { ...payload, ...position } })
}

type SignedRequest = { url: string } & Parameters<typeof signedHeaders>[0]
type PostOptions = { request: GuardedRequest; signal: AbortSignal; timeoutMs: number }

/** Sends a signed body once. Rejects only if the signal aborts, or because of a bug. */
export async function post(
  { url, ...signed }: SignedRequest,
  { request, signal, timeoutMs }: PostOptions,
): Promise<DeliveryOutcome> {
  const headers = signedHeaders(signed)
  const isOver = new AbortController()
  try {
    const span = () => ({ name: 'webhook POST', kind: 'client' as const })
    const send = (own?: Span) =>
      withTimeout(timeoutMs, signal, async (signal) => {
        signal.addEventListener('abort', () => isOver.abort())
        const sent = { ...headers, ...(own && { traceparent: `00-${own.traceContext}` }) }
        const response = await request(new URL(url), {
          method: 'POST',
          headers: sent,
          body: signed.body,
          signal,
        })
        await discard(response)
        const outcome = outcomeOf(response)
        own?.set(attributesOf(outcome))
        return outcome
      })
    return await inSpan(span, send)
  } catch (error) {
    signal.throwIfAborted()
    if (isOver.signal.aborted) return failure(`no answer within ${timeoutMs / 1000} s`)
    // Network and protocol errors carry a code; an error without one is a bug here.
    const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
    if (error instanceof UnfetchableError) return failure(error.message)
    if (code === undefined) throw error
    return failure(code)
  }
}

/** By the conventions of OpenTelemetry for HTTP. */
const attributesOf = ({ isDelivered, responseStatus }: DeliveryOutcome) => ({
  'http.response.status_code': responseStatus ?? 0,
  ...(isDelivered ? {} : { 'error.type': String(responseStatus) }),
})

export const failure = (error: string): DeliveryOutcome => ({
  isDelivered: false,
  isGone: false,
  responseStatus: null,
  error,
  retryAfterSeconds: 0,
})

/** Reads a short answer to its end, so that its sender sees no error. Cuts a long one. */
async function discard(response: IncomingMessage) {
  try {
    await readUpTo(response, MAX_ANSWER_BYTES + 1)
  } catch {
    // The status has been received, and nothing else matters.
  }
}

function outcomeOf({ statusCode = 0, headers }: IncomingMessage): DeliveryOutcome {
  const isDelivered = statusCode >= 200 && statusCode < 300
  const isRedirect = statusCode >= 300 && statusCode < 400
  const error = `answered ${statusCode}${isRedirect ? ': redirects are not followed' : ''}`
  return {
    isDelivered,
    isGone: statusCode === 410,
    responseStatus: statusCode,
    error: isDelivered ? null : error,
    retryAfterSeconds: isDelivered ? 0 : secondsUntil(headers['retry-after'], headers.date),
  }
}
