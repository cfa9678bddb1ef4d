import { type ErrorBody, errorStatus } from '@parley/contract'
import { isDatabaseTrouble } from '../db/client.ts'
import { Failure } from '../failure.ts'

/** What an error of any source answers; whatever is not meant for the caller becomes INTERNAL_ERROR without its text. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  if (isDatabaseTrouble(error)) return new Failure('UNAVAILABLE', 'The database is out of reach', 1)
  const status = statusOf(error)
  if (status === 413) return new Failure('PAYLOAD_TOO_LARGE', 'The request body is too large')
  if (status === 404) return new Failure('NOT_FOUND', 'Not found')
  if (error instanceof Error && status !== undefined && status >= 400 && status < 500) return new Failure('VALIDATION_ERROR', error.message)
  return new Failure('INTERNAL_ERROR', 'Something went wrong')
}

/** The status that the framework gives an error of its own. */
const statusOf = (error: unknown) =>
  error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : undefined

export const toErrorBody = ({ code, message }: Failure): ErrorBody => ({ error: { message, code } })
export const statusOfFailure = ({ code }: Failure) => errorStatus[code]

/** Faults of the server are logged whole, under the id of their request; the database's absence in a line. */
export function report(log: { error: (object: object, message: string) => void; warn: (message: string) => void }, { failure, error }: { failure: Failure; error: unknown }) {
  if (failure.code === 'INTERNAL_ERROR') log.error({ err: error }, 'request failed')
  if (failure.code === 'UNAVAILABLE') log.warn(`database unavailable: ${error instanceof Error ? error.message : String(error)}`)
}
