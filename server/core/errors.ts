import type { ErrorCode } from '@parley/contract'

/** The shortest `Retry-After` of a refusal because the service is unavailable. */
const LEAST_RETRY_SECONDS = 1

/** An error that the caller can act on. Anything else that is thrown is a bug: INTERNAL_ERROR. */
export class ApiError extends Error {
  override readonly name: string = 'ApiError'

  constructor(
    readonly code: ErrorCode,
    message: string,
    /** Seconds after which the caller should retry. UNAVAILABLE always has them. */
    readonly retryAfterSeconds = code === 'UNAVAILABLE' ? LEAST_RETRY_SECONDS : undefined,
  ) {
    super(message)
  }
}
