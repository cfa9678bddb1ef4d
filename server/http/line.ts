import { toApiError } from './errors.ts'

/** Commands of one caller that are to be carried out in their order. */
export type Line = ReturnType<typeof createLine>

/**
 * Behind a command that was refused and may succeed later, as while the database is out of reach,
 * no other one of its line is carried out: repeated, it would come after them.
 */
export function createLine() {
  let refusal: unknown
  return {
    /** What those behind are refused with; undefined while none has to wait. */
    get refusal() {
      return refusal
    },
    /** A command was refused. */
    note: (error: unknown) => {
      if (isTemporary(error)) refusal ??= error
    },
  }
}

/** Whether what was refused may succeed later. */
export const isTemporary = (error: unknown) => toApiError(error).code === 'UNAVAILABLE'
