import { z } from 'zod'

/** Each error code and the HTTP status it is answered with (SPEC "Errors", and its additions). */
export const errorStatus = {
  VALIDATION_ERROR: 400,
  UNAUTHORIZED: 401,
  INVALID_TOKEN: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  PAYLOAD_TOO_LARGE: 413,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  UNAVAILABLE: 503,
} as const

export type ErrorCode = keyof typeof errorStatus

/** What each code tells the caller; the text of `openapi.json`. */
export const errorDescriptions: Record<ErrorCode, string> = {
  VALIDATION_ERROR: 'The request is malformed; the message names the field and what was expected.',
  UNAUTHORIZED: 'No credentials of the wanted kind, or a wrong API or admin key.',
  INVALID_TOKEN:
    'The bearer token is invalid, expired or revoked: request a new one from POST /tokens.',
  FORBIDDEN: 'The caller may not do this.',
  NOT_FOUND: 'There is no such thing, or it belongs to somebody else.',
  PAYLOAD_TOO_LARGE: 'The request body is too large.',
  RATE_LIMITED: 'Too many calls in this window: wait `Retry-After` seconds.',
  INTERNAL_ERROR: 'A fault of the server. It is logged under the `X-Request-Id` of the answer.',
  UNAVAILABLE: 'The database is out of reach for now: try again after `Retry-After` seconds.',
}

/** The body of every error, from every source (SPEC "Errors"). */
export const ErrorBody = z
  .object({
    error: z
      .object({
        message: z
          .string()
          .meta({ description: 'What went wrong, for people.', examples: ['Channel not found'] }),
        code: z
          .enum(Object.keys(errorStatus) as [ErrorCode, ...ErrorCode[]]) // Object.keys forgets the literal names
          .meta({ description: 'What went wrong, for programs.', examples: ['NOT_FOUND'] }),
      })
      .meta({ description: 'The error.' }),
  })
  .meta({ id: 'Error', description: 'The body of every error.' })
export type ErrorBody = z.infer<typeof ErrorBody>
