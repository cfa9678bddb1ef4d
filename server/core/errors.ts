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

  /** Why, for the log: not where the message may quote what a caller has sent. */
  get reason(): string | undefined {
    const mayQuote = this.code === 'VALIDATION_ERROR' || this.code === 'INTERNAL_ERROR'
    return mayQuote ? undefined : this.message
  }
}

/** The app's before-send hook has refused a message, in words of its own. */
export class HookRefusalError extends ApiError {
  override readonly name = 'HookRefusalError'

  constructor(message: string) {
    super('FORBIDDEN', message)
  }

  override get reason() {
    return 'The before-send hook of the app refused it'
  }
}
