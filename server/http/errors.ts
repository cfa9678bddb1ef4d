import { type ErrorBody, errorStatus } from '@parley/contract'
import { AdmissionError } from '../core/admission.ts'
import { describeError } from '../core/describe-error.ts'
import { ApiError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { isDatabaseUnavailable, isDiskFull } from '../db/client.ts'

/**
 * The error that a client receives for any error that was thrown. Errors that are not meant for the
 * client become INTERNAL_ERROR, without their message.
 */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  if (isDiskFull(error)) return new ApiError('UNAVAILABLE', 'The database has no room to write', 1)
  if (isDatabaseUnavailable(error))
    return new ApiError('UNAVAILABLE', 'The database is out of reach', 1)
  const status = frameworkStatusOf(error)
  if (status === 413) return new ApiError('PAYLOAD_TOO_LARGE', 'The request body is too large')
  if (status === 404) return new ApiError('NOT_FOUND', 'Not found')
  if (error instanceof Error && status !== undefined && status >= 400 && status < 500)
    return new ApiError('VALIDATION_ERROR', error.message)
  return new ApiError('INTERNAL_ERROR', 'Something went wrong')
}

/** The status that Fastify gives to its own errors. */
const frameworkStatusOf = (error: unknown) =>
  error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : undefined

export const toErrorBody = ({ code, message }: ApiError): ErrorBody => ({
  error: { message, code },
})
export const statusOf = ({ code }: ApiError) => errorStatus[code]

/**
 * Logs bugs with their stack and the id of the request. An unavailable database is logged once for
 * the outage; each call that it fails is logged for debugging only. Errors that the client has
 * caused are not logged; calls over a limit have a metric.
 */
export function logError(log: Log<'error' | 'debug'>, error: unknown, { code }: ApiError) {
  if (code === 'INTERNAL_ERROR') log.error({ fault: describeError(error) }, 'request failed')
  if (code === 'UNAVAILABLE' && !(error instanceof AdmissionError))
    log.debug({ fault: describeError(error).message }, 'refused without the database')
}
