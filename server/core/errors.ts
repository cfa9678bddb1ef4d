import type { ErrorCode } from '@parley/contract'

/** An error that the caller can act on. Anything else that is thrown is a bug: INTERNAL_ERROR. */
export class ApiError extends Error {
  override readonly name: string = 'ApiError'

  constructor(
    readonly code: ErrorCode,
    message: string,
    /** Seconds after which the caller should retry. */
    readonly retryAfterSeconds?: number,
  ) {
    super(message)
  }
}
