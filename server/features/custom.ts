import { customProblem } from '@parley/contract'
import { ApiError } from '../core/errors.ts'

type Custom = Record<string, unknown>

/**
 * Metadata after a change: its keys replace those that are there, `null` as a value removes a key,
 * and `null` as the change removes all. Null where nothing is left.
 */
export function mergeCustom(
  before: Custom | null,
  change: Custom | null | undefined,
): Custom | null {
  if (change === undefined) return before
  const merged = change === null ? [] : Object.entries({ ...before, ...change })
  const after = Object.fromEntries(merged.filter(([, value]) => value !== null))
  const problem = customProblem(after)
  if (problem) throw new ApiError('VALIDATION_ERROR', `custom: ${problem}, after the change`)
  return Object.keys(after).length === 0 ? null : after
}

/** The `custom` field of an answer, which is absent if there is none. */
export const withCustom = (custom: Custom | null) => (custom ? { custom } : {})
