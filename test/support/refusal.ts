import { isChatError } from '@parley/client'

/** The status and code of a refused call. A call that succeeds fails the test. */
export async function refusal(call: Promise<unknown>) {
  const { status, code } = await refusalOf(call)
  return { status, code }
}

/** The status and code of each of these refused calls. */
export const refusals = (calls: Promise<unknown>[]) => Promise.all(calls.map(refusal))

/** The message of a refusal. */
export const complaint = async (call: Promise<unknown>) => (await refusalOf(call)).message

async function refusalOf(call: Promise<unknown>) {
  const error = await call.then(
    (answer) =>
      Promise.reject(new Error(`expected a refusal, was answered ${JSON.stringify(answer)}`)),
    (error: unknown) => error,
  )
  if (isChatError(error)) return error
  throw error
}

export const invalid = { status: 400, code: 'VALIDATION_ERROR' }
export const unauthorized = { status: 401, code: 'UNAUTHORIZED' }
export const badToken = { status: 401, code: 'INVALID_TOKEN' }
export const forbidden = { status: 403, code: 'FORBIDDEN' }
export const notFound = { status: 404, code: 'NOT_FOUND' }
export const conflict = { status: 409, code: 'CONFLICT' }
