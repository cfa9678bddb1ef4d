import type { ErrorCode } from '../generated/types.ts'

/**
 * The server's error code, or one of the client's own: `NETWORK_ERROR` if no response came,
 * `TIMEOUT` if none came in time, `ABORTED` if the caller aborted or the records of an import could
 * not be read, `TOKEN_PROVIDER_FAILED` if the application's token provider failed.
 */
export type ChatErrorCode =
  | ErrorCode
  | 'NETWORK_ERROR'
  | 'TIMEOUT'
  | 'ABORTED'
  | 'TOKEN_PROVIDER_FAILED'

/** Every call that fails rejects with a ChatError. */
export class ChatError extends Error {
  /** Always `ChatError`. */
  override readonly name = 'ChatError'
  /** The cause, for programs to act on; the message is for developers. */
  declare readonly code: ChatErrorCode
  /** The HTTP status; 0 if there was no response. */
  declare readonly status: number
  /** The server's `Retry-After`, in milliseconds. */
  declare readonly retryAfterMs: number | undefined
  /** The id of the request in the server's log. */
  declare readonly requestId: string | undefined

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
    super(message, details)
    Object.assign(this, { status: 0 }, details)
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

/** The error of what the application, or another tab, has ended. */
export const aborted = (message: string) => new ChatError(message, { code: 'ABORTED' })

/** Why a client does nothing more. */
export const loggedOut = () => aborted('logged out; make another client')

/** Narrows an unknown error, optionally to one code: `isChatError(error, 'FORBIDDEN')`. */
export const isChatError = (error: unknown, code?: ChatErrorCode): error is ChatError =>
  error instanceof ChatError && (code === undefined || error.code === code)

/** Wraps any other error in a ChatError. */
export const toChatError = (cause: unknown) =>
  isChatError(cause) ? cause : new ChatError(String(cause), { code: 'INTERNAL_ERROR', cause })
