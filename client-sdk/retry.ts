import { ChatError, type ChatErrorCode, isChatError } from './error.ts'
import { isDeviceOffline } from './platform.ts'
import type { ErrorCode } from './types.ts'

/** The one policy for what is tried again: which failures may pass, and how long to wait. */

const schedules = {
  /** Somebody waits for the result. */
  call: { firstMs: 300, longestMs: 5_000 },
  /** It goes on until it succeeds: the socket, its topics, what was missed, unsent messages. */
  background: { firstMs: 500, longestMs: 30_000 },
  /** All calls of a client, while none of them reaches the server. */
  network: { firstMs: 500, longestMs: 10_000 },
  /** The application's backend. */
  tokenProvider: { firstMs: 1_000, longestMs: 60_000 },
}
/** A server that asks for a longer pause is asked again nevertheless. */
const LONGEST_RETRY_AFTER_MS = 5 * 60_000
/** How much later than asked clients come back, so that they do not all come at once. */
const RETRY_AFTER_JITTER = 0.1
/** If a call has to wait longer than this, the caller gets the error instead. */
const LONGEST_CALL_PAUSE_MS = 10_000
const RETRIED_CALLS: ChatErrorCode[] = ['NETWORK_ERROR', 'RATE_LIMITED', 'UNAVAILABLE']

/**
 * How long to wait before the attempt after attempt n, in milliseconds: it doubles up to a maximum,
 * less a random part of at most half, and is no less than the server's `Retry-After`.
 */
export function pause(schedule: keyof typeof schedules, attempt: number, retryAfterMs = 0) {
  const { firstMs, longestMs } = schedules[schedule]
  const backoffMs = Math.min(longestMs, firstMs * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2)
  return Math.max(backoffMs, retryAfterMs * (1 + RETRY_AFTER_JITTER * (1 - Math.random())))
}

/** What waits for another attempt. */
const waiting = new Set<() => void>()

/** Tries again at once. Whether the calls of each client may be sent is up to its gates. */
function wakeAll() {
  for (const end of [...waiting]) end()
}

/** Calls back after a pause, or once it is woken. Returns what cancels that. */
export function schedule(callback: () => void, ms: number): () => void {
  const cancel = () => {
    clearTimeout(timer)
    waiting.delete(end)
  }
  const end = () => {
    cancel()
    callback()
  }
  const timer = setTimeout(end, ms)
  waiting.add(end)
  return cancel
}

/** Resolves after a pause, or once it is woken; never if the signal aborts first. */
export const delay = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', schedule(resolve, ms)))

/** Tries again what has failed, all of it by one timer, with pauses that grow until it is ended. */
export function createRetries(retry: () => void) {
  let failures = 0
  let cancel: (() => void) | undefined
  return {
    /** Something has failed, and may succeed later. */
    later: ({ retryAfterMs }: { retryAfterMs?: number | undefined } = {}) => {
      // Calls of one round have failed once together.
      if (cancel) return
      failures += 1
      const again = () => {
        cancel = undefined
        retry()
      }
      cancel = schedule(again, pause('background', failures, retryAfterMs))
    },
    /** All have succeeded, or the connection is lost: the next one loads everything. */
    end: () => {
      cancel?.()
      cancel = undefined
      failures = 0
    },
    get isWaiting() {
      return cancel !== undefined
    },
  }
}

/** How long to wait before a failed call is tried again; undefined if it is not. */
export function pauseBeforeRetry(
  error: unknown,
  { attempt, isRepeatable }: { attempt: number; isRepeatable: boolean },
) {
  if (!isChatError(error) || !RETRIED_CALLS.includes(error.code)) return undefined
  const { code, retryAfterMs = 0 } = error
  // A rate-limited call had no effect; any other may have had one.
  if (!isRepeatable && code !== 'RATE_LIMITED') return undefined
  if (retryAfterMs > LONGEST_CALL_PAUSE_MS) return undefined
  // The caller learns at once what the device knows.
  if (code === 'NETWORK_ERROR' && isDeviceOffline()) return undefined
  return pause('call', attempt, retryAfterMs)
}

/**
 * The meaning of a refusal: by the server's error code, or else by the status of a proxy or
 * firewall.
 */
export function classify(status: number, body: string): { code: ErrorCode; message: string } {
  const { code, message = notOurs(status) } = parseError(body)
  // Newer servers have more codes, and gateways have errors of this form with codes of their own.
  return { code: code && code in STATUS ? code : codeOf(status), message: String(message) }
}

const notOurs = (status: number) => `answered ${status}, but not by Parley; is the url right?`

function parseError(body: string): { code?: ErrorCode; message?: unknown } {
  try {
    return JSON.parse(body).error ?? {}
  } catch {
    return {}
  }
}

/** Where codes share a status, the first is that of answers which are not Parley's. */
const STATUS: Record<ErrorCode, number> = {
  VALIDATION_ERROR: 400,
  UNAUTHORIZED: 401,
  INVALID_TOKEN: 401,
  FORBIDDEN: 403,
  APP_DISABLED: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  UNAVAILABLE: 503,
}
/** The status that the server answers an error with. */
export const statusOf = (code: ErrorCode) => STATUS[code]

function codeOf(status: number): ErrorCode {
  // A 401 without our code is a proxy's, and not about our token.
  if (status === 401) return 'FORBIDDEN'
  const [code] = Object.entries(STATUS).find(([, each]) => each === status) ?? []
  if (code) return code as ErrorCode // a key of this table
  const mayPass = status < 400 || status > 499 || status === 408 || status === 425
  return mayPass ? 'UNAVAILABLE' : 'VALIDATION_ERROR'
}

/** `Retry-After` in milliseconds, from seconds or a date; undefined if it is neither. */
export function parseRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  // The date is by the clock of the server, which the device's may differ from.
  const now = Date.parse(headers.get('date') ?? '') || Date.now()
  const seconds = Number(value)
  const ms = Number.isNaN(seconds) ? Date.parse(value) - now : seconds * 1_000
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER_MS)
}

/** The error of a call that is not sent, before a time; undefined after it. */
function refusalUntil(endsAt: number, { message, code, status }: ChatError) {
  const retryAfterMs = endsAt - performance.now()
  return retryAfterMs > 0 ? new ChatError(message, { code, status, retryAfterMs }) : undefined
}

export type RateGate = ReturnType<typeof createRateGate>

/** After a 429 all calls of a client against the same limit wait, not only the one refused. */
export function createRateGate() {
  /** `count`: how many there were, one after another, without a success between them. */
  const refusals = new Map<string, { error: ChatError; endsAt: number; count: number }>()
  return {
    /** The error of a call that would be refused; undefined if it may be sent. */
    refusalOf: (limit: string) => {
      const { error, endsAt = 0 } = refusals.get(limit) ?? {}
      return error && refusalUntil(endsAt, error)
    },
    /** The result of a call. A proxy may refuse without saying for how long. */
    record: (limit: string, result: unknown) => {
      const { endsAt = 0, count = 0 } = refusals.get(limit) ?? {}
      const isClosed = endsAt > performance.now()
      if (isChatError(result, 'RATE_LIMITED')) {
        const { retryAfterMs } = result
        if (!retryAfterMs && isClosed) return
        const pauseMs = retryAfterMs || pause('background', count + 1)
        refusals.set(limit, {
          error: result,
          endsAt: performance.now() + pauseMs,
          count: count + 1,
        })
      } else if (!isClosed) refusals.delete(limit)
    },
  }
}

export type NetworkGate = ReturnType<typeof createNetworkGate>

/**
 * While the server cannot be reached, the calls of a client wait together, and after each pause one
 * of them tries whether it can.
 */
export function createNetworkGate() {
  let failure: ChatError | undefined
  let endsAt = 0
  let count = 0
  const close = (error: ChatError) => {
    failure = error
    count += 1
    endsAt = performance.now() + pause('network', count)
  }
  const open = () => {
    // Not at once: calls that were refused just now do not wait yet.
    if (failure) setTimeout(wakeAll)
    failure = undefined
    count = 0
  }
  return {
    /** An answer came, or may come: what waits for another attempt is tried at once. */
    open,
    /** The error of a call that is not to be sent; undefined if it may be. */
    refusal: () => {
      const refusal = failure && refusalUntil(endsAt, failure)
      // The others wait for the one that tries.
      if (failure && !refusal) close(failure)
      return refusal
    },
    /** No answer came. Calls that were sent together have failed once. */
    fail: (error: ChatError) => {
      if (!failure) close(error)
    },
  }
}
