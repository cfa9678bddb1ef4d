type DatabaseFields = Record<'code' | 'routine', string> &
  Partial<Record<'table' | 'table_name' | 'constraint' | 'constraint_name', string>>

/** An error in the form that the log shows. */
type DescribedError = {
  message: string
  code?: string
  routine?: string
  table?: string | undefined
  constraint?: string | undefined
  /** The lines with locations alone: the first line repeats the message. */
  stack?: string[] | undefined
  cause?: DescribedError
  errors?: DescribedError[]
}

/** How deep causes are followed: they may form a circle. */
const DEEPEST = 5

/** Leaves out what may be user data: values in messages, details and queries of the database. */
export function describeError(error: unknown, depth = 0): DescribedError {
  if (!(error instanceof Error)) return { message: typeof error }
  const stack = error.stack?.split('\n').filter((line) => /^\s+at /.test(line))
  if (isOfDatabase(error)) {
    const { code, routine } = error
    const table = error.table_name ?? error.table
    const constraint = error.constraint_name ?? error.constraint
    // Class 22 means invalid data, which the message quotes.
    const message = code.startsWith('22') ? `PostgreSQL error ${code}` : error.message
    return { message, code, routine, table, constraint, stack }
  }
  const { message, cause } = error
  const code = 'code' in error && typeof error.code === 'string' && { code: error.code }
  if (depth === DEEPEST) return { message, stack, ...code }
  const describe = (inner: unknown) => describeError(inner, depth + 1)
  return {
    message,
    stack,
    ...code,
    ...(cause instanceof Error && { cause: describe(cause) }),
    ...(error instanceof AggregateError && { errors: error.errors.map(describe) }),
  }
}

/** The message alone. */
export const safeMessage = (error: Error) => describeError(error).message

/** Errors of PostgreSQL, of our driver or of that of the job queue. */
const isOfDatabase = (error: Error): error is Error & DatabaseFields =>
  'severity' in error &&
  'code' in error &&
  typeof error.code === 'string' &&
  /^[0-9A-Z]{5}$/.test(error.code)

/** An error as the field `err` of a line: with its name, and its stack as a text. */
export function errorField(error: unknown) {
  const { stack = [], ...described } = describeError(error)
  const type = error instanceof Error ? error.name : typeof error
  return { type, ...described, stack: [`${type}: ${described.message}`, ...stack].join('\n') }
}
