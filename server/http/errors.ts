import { type ErrorBody, errorStatus } from '@parley/contract'
import postgres from 'postgres'
import { ApiError } from '../core/errors.ts'
import { isDatabaseUnavailable } from '../db/client.ts'

/** What an error of any source answers; whatever is not meant for the caller becomes INTERNAL_ERROR without its text. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  if (isDatabaseUnavailable(error))
    return new ApiError('UNAVAILABLE', 'The database is out of reach', 1)
  const status = frameworkStatusOf(error)
  if (status === 413) return new ApiError('PAYLOAD_TOO_LARGE', 'The request body is too large')
  if (status === 404) return new ApiError('NOT_FOUND', 'Not found')
  if (error instanceof Error && status !== undefined && status >= 400 && status < 500)
    return new ApiError('VALIDATION_ERROR', error.message)
  return new ApiError('INTERNAL_ERROR', 'Something went wrong')
}

/** The status that the framework gives an error of its own. */
const frameworkStatusOf = (error: unknown) =>
  error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : undefined

export const toErrorBody = ({ code, message }: ApiError): ErrorBody => ({
  error: { message, code },
})
export const statusOf = ({ code }: ApiError) => errorStatus[code]

type Log = {
  error: (object: object, message: string) => void
  warn: (object: object, message: string) => void
}

/** Faults of the server are logged with their stack, under the id of their request; the database's absence in a line. */
export function report(log: Log, { failure, error }: { failure: ApiError; error: unknown }) {
  if (failure.code === 'INTERNAL_ERROR')
    log.error({ fault: describeFault(error) }, 'request failed')
  if (failure.code === 'UNAVAILABLE')
    log.warn({ fault: describeFault(error).message }, 'database unavailable')
}

/** An error without what may be a user's: the values in messages, details and queries of the database. */
export function describeFault(error: unknown) {
  if (!(error instanceof Error)) return { message: typeof error }
  const stack = error.stack?.split('\n').filter((line) => /^\s+at /.test(line))
  if (!(error instanceof postgres.PostgresError)) return { message: error.message, stack }
  const { code, routine, table_name: table, constraint_name: constraint } = error
  // Class 22: the data did not fit, and the message quotes it.
  return {
    message: code.startsWith('22') ? `PostgreSQL error ${code}` : error.message,
    code,
    routine,
    table,
    constraint,
    stack,
  }
}
