import type { ErrorCode } from './types.ts'

/**
 * What went wrong: a refusal of the server by its code, or on this side `NETWORK_ERROR` when no answer came, `TIMEOUT`
 * when none came in time, `ABORTED` when the caller gave up, and `TOKEN_PROVIDER_FAILED` when the application's token
 * provider did.
 */
export type ChatErrorCode =
  | ErrorCode
  | 'NETWORK_ERROR'
  | 'TIMEOUT'
  | 'ABORTED'
  | 'TOKEN_PROVIDER_FAILED'

/** Every call that fails rejects with one of these (SPEC "Errors"). */
export class ChatError extends Error {
  /** Always `ChatError`. */
  override readonly name = 'ChatError'
  /** What went wrong, for programs; the message is for people. */
  readonly code: ChatErrorCode
  /** The HTTP status; 0 when no answer came. */
  readonly status: number
  /** When to try again, in milliseconds from now, if the server said so. */
  readonly retryAfterMs: number | undefined
  /** Names the request in the server's log. */
  readonly requestId: string | undefined

  constructor(
    message: string,
    details: {
      code: ChatErrorCode
      status?: number
      retryAfterMs?: number | undefined
      requestId?: string | undefined
      cause?: unknown
    },
  ) {
    super(message, { cause: details.cause })
    this.code = details.code
    this.status = details.status ?? 0
    this.retryAfterMs = details.retryAfterMs
    this.requestId = details.requestId
  }

  /** Whether the same call may succeed later. */
  get retryable() {
    return [
      'NETWORK_ERROR',
      'TIMEOUT',
      'TOKEN_PROVIDER_FAILED',
      'RATE_LIMITED',
      'UNAVAILABLE',
      'INTERNAL_ERROR',
    ].includes(this.code)
  }
}

/** Narrows an unknown error, optionally to one code: `isChatError(error, 'FORBIDDEN')`. */
export const isChatError = (error: unknown, code?: ChatErrorCode): error is ChatError =>
  error instanceof ChatError && (code === undefined || error.code === code)

/** Any failure as a ChatError. */
export const toChatError = (cause: unknown) =>
  isChatError(cause) ? cause : new ChatError(String(cause), { code: 'INTERNAL_ERROR', cause })
