import { toApiError } from './errors.ts'

/** Commands of one caller that must run in order. */
export type CommandSequence = ReturnType<typeof createCommandSequence>

/**
 * Keeps the order of a sequence when a command fails in a way that may pass, as while the database
 * is down: the commands behind it are refused too, because the caller will repeat the failed one,
 * which must not come after them.
 */
export function createCommandSequence() {
  let refusal: unknown
  return {
    /** The error for commands behind a failed one; undefined while none has failed. */
    get refusal() {
      return refusal
    },
    /** Notes that a command was refused. */
    note: (error: unknown) => {
      if (isTemporary(error)) refusal ??= error
    },
  }
}

/** Whether a refused command may succeed later. */
export const isTemporary = (error: unknown) => toApiError(error).code === 'UNAVAILABLE'
