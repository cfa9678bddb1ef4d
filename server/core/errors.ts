import type { ErrorCode } from '@parley/contract'

/** An answer the caller can act on. Anything else that is thrown is a bug and becomes INTERNAL_ERROR. */
export class ApiError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    /** Seconds after which trying again makes sense. */
    readonly retryAfterSeconds?: number,
  ) {
    super(message)
  }
}

export const fail = (code: ErrorCode, message: string): never => {
  throw new ApiError(code, message)
}
