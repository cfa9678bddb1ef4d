import type { ErrorCode } from '@parley/contract'

/** What went wrong: a refusal of the server by its code, or `NETWORK_ERROR` when no answer came. */
export type ChatErrorCode = ErrorCode | 'NETWORK_ERROR'

/** Every call that fails rejects with one of these (SPEC "Errors"). */
export class ChatError extends Error {
  override readonly name = 'ChatError'
  readonly code: ChatErrorCode
  /** The HTTP status; 0 when no answer came. */
  readonly status: number
  /** When the server said to try again, in milliseconds from the answer. */
  readonly retryAfterMs: number | undefined
  /** Names the request in the server's log. */
  readonly requestId: string | undefined

  constructor(
    message: string,
    details: { code: ChatErrorCode; status: number; retryAfterMs?: number | undefined; requestId?: string | undefined; cause?: unknown },
  ) {
    super(message, { cause: details.cause })
    this.code = details.code
    this.status = details.status
    this.retryAfterMs = details.retryAfterMs
    this.requestId = details.requestId
  }

  /** Whether the same call may succeed later. */
  get retryable() {
    return ['NETWORK_ERROR', 'RATE_LIMITED', 'UNAVAILABLE', 'INTERNAL_ERROR'].includes(this.code)
  }
}

/** Narrows an unknown error, optionally to one code: `isChatError(error, 'FORBIDDEN')`. */
export const isChatError = (error: unknown, code?: ChatErrorCode): error is ChatError =>
  error instanceof ChatError && (code === undefined || error.code === code)
