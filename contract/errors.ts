import { z } from 'zod'

/** Every error code with its HTTP status. */
export const errorStatus = {
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
} as const

/** The code of an error, for programs. */
export type ErrorCode = keyof typeof errorStatus

/** The meaning of each code to the caller, as shown in `openapi.json`. */
export const errorDescriptions: Record<ErrorCode, string> = {
  VALIDATION_ERROR: 'The request is malformed. The message names the field and what was expected.',
  UNAUTHORIZED: 'Credentials of the required kind are missing, or an API or admin key is wrong.',
  INVALID_TOKEN:
    'The bearer token is invalid, expired or revoked: request a new one with POST /tokens.',
  FORBIDDEN: 'The caller is not allowed to do this.',
  APP_DISABLED: 'The operator has disabled the app: its keys and tokens work once it is enabled.',
  NOT_FOUND: 'It does not exist, or belongs to someone else.',
  METHOD_NOT_ALLOWED: 'The server never carries out this method: `Allow` names those it does.',
  CONFLICT:
    'It was changed meanwhile: fetch it again. Of a replay: wait until another one has ended.',
  PAYLOAD_TOO_LARGE: 'The request body is too large.',
  RATE_LIMITED:
    'Too many calls in this window, or too many imports or exports at once: wait `Retry-After` ' +
    'seconds.',
  INTERNAL_ERROR: 'The server failed. Its log has the cause, under the id in `X-Request-Id`.',
  UNAVAILABLE:
    'The database cannot be reached or has no room, the server is about to stop, or too many ' +
    'calls of the user or of the app are waiting: try again after `Retry-After` seconds.',
}

/** The body of every error response. */
export const ErrorBody = z
  .object({
    error: z
      .object({
        message: z
          .string()
          .meta({ description: 'What went wrong, for people.', examples: ['Channel not found'] }),
        code: z
          // Object.keys loses the literal names.
          .enum(Object.keys(errorStatus) as [ErrorCode, ...ErrorCode[]])
          .meta({
            id: 'ErrorCode',
            description: 'What went wrong, for programs.',
            examples: ['NOT_FOUND'],
          }),
      })
      .meta({ description: 'The error.' }),
  })
  .meta({ id: 'ApiError', description: 'The body of every error response.' })
export type ErrorBody = z.infer<typeof ErrorBody>
