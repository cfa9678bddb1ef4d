import type { ErrorCode } from '../generated/types.ts'
import { isDeviceOffline } from '../shared/platform.ts'
import { ChatError, type ChatErrorCode, isChatError } from './error.ts'

/** The one policy for what is tried again: which failures may pass, and how long to wait. */

const schedules = {
  /** Somebody waits for the result. */
  call: { firstMs: 300, longestMs: 5_000 },
  /** It goes on until it succeeds: the socket, its topics, what was missed, unsent messages. */
  background: { firstMs: 500, longestMs: 30_000 },
  /** All calls of a client, while none of them reaches the server. */
  network: { firstMs: 500, longestMs: 10_000 },
  /** The application's backend. */
  tokens: { firstMs: 1_000, longestMs: 60_000 },
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

type CallFailure = { retryAfterMs?: number | undefined }

/** By the errors of calls that could not reach the server: what waits for another attempt. */
const waiting = new WeakMap<CallFailure, Set<() => void>>()

/**
 * Calls back after a pause, or once the client that could not reach the server can. Returns what
 * cancels that.
 */
export function schedule(callback: () => void, ms: number, error: CallFailure = {}): () => void {
  const woken = waiting.get(error)
  const cancel = () => {
    clearTimeout(timer)
    woken?.delete(end)
  }
  const end = () => {
    cancel()
    callback()
  }
  const timer = setTimeout(end, ms)
  woken?.add(end)
  return cancel
}

/** Resolves after a pause, or once it is woken; never if the signal aborts first. */
export const delay = (ms: number, { error, signal }: { error: CallFailure; signal: AbortSignal }) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', schedule(resolve, ms, error)))

/** Tries again what has failed, all of it by one timer, with pauses that grow until it is ended. */
export function createRetries(retry: () => void) {
  let failures = 0
  let cancel: (() => void) | undefined
  return {
    /** Something has failed, and may succeed later. */
    later: (error?: CallFailure) => {
      // Calls of one round have failed once together.
      if (cancel) return
      failures += 1
      const again = () => {
        cancel = undefined
        retry()
      }
      cancel = schedule(again, pause('background', failures, error?.retryAfterMs), error)
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
  { code, retryAfterMs = 0 }: ChatError,
  { attempt, isRepeatable }: { attempt: number; isRepeatable: boolean },
) {
  if (!RETRIED_CALLS.includes(code)) return undefined
  // A call that was refused by a limit, or not sent at all, had no effect; any other may have had.
  const wasSent = code !== 'RATE_LIMITED' && !(code === 'NETWORK_ERROR' && retryAfterMs)
  if (!isRepeatable && wasSent) return undefined
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
/** The status that the server answers an error with; undefined if only newer clients know it. */
export const statusOf = (code: ErrorCode): number | undefined => STATUS[code]

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
  return clampPause(Number.isNaN(seconds) ? Date.parse(value) - now : seconds * 1_000)
}

/** The pause that a server asks for, if it is one. */
export const clampPause = (ms: number) =>
  Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER_MS)

export type Gate = ReturnType<typeof createGate>

/**
 * Holds back the calls of a client. After a 429 all of those against the same limit wait, not only
 * the one refused. While the server cannot be reached all calls wait together, and after each pause
 * one of them tries whether it can.
 */
export function createGate() {
  /** By limit, or `network`; `count`: how often, one after another, without a success between. */
  const closed = new Map<string, { error: ChatError; endsAt: number; count: number }>()
  const woken = new Set<() => void>()
  const close = (limit: string, error: ChatError) => {
    const count = (closed.get(limit)?.count ?? 0) + 1
    const kind = limit === 'network' ? limit : 'background'
    // A proxy may refuse without saying for how long.
    const pauseMs = error.retryAfterMs || pause(kind, count)
    closed.set(limit, { error, endsAt: performance.now() + pauseMs, count })
  }
  const refusalBy = (limit: string) => {
    const { error, endsAt = 0 } = closed.get(limit) ?? {}
    const retryAfterMs = endsAt - performance.now()
    if (!error || retryAfterMs <= 0) return undefined
    const refusal = new ChatError(error.message, { ...error, retryAfterMs })
    if (limit === 'network') waiting.set(refusal, woken)
    return refusal
  }
  const wake = () => {
    for (const end of [...woken]) end()
  }
  const reopen = () => {
    // Not at once: calls that were refused just now do not wait yet.
    if (closed.delete('network')) setTimeout(wake)
  }
  const gate = {
    /** How many answers have come. */
    answers: 0,
    /** The server may be reached again: what waits for another attempt is tried at once. */
    reopen,
    /** The error of a call that is not to be sent; undefined if it may be. */
    refusalOf: (limit: string) => {
      const refusal = refusalBy(limit) ?? refusalBy('network')
      const failure = closed.get('network')
      // The others wait for the one that tries.
      if (failure && !refusal) close('network', failure.error)
      return refusal
    },
    /** The result of a call, which shows that the server can be reached. */
    takeResult: (limit: string, result: unknown) => {
      gate.answers += 1
      reopen()
      const isClosed = refusalBy(limit)
      if (isChatError(result, 'RATE_LIMITED')) {
        if (result.retryAfterMs || !isClosed) close(limit, result)
      } else if (!isClosed) closed.delete(limit)
    },
    /** No answer came. Calls that were sent together have failed once. */
    fail: (error: ChatError) => {
      waiting.set(error, woken)
      if (!closed.has('network')) close('network', error)
    },
  }
  return gate
}
