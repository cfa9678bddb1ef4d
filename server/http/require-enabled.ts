import type { AppFacts } from '../core/app-facts.ts'
import { ApiError } from '../core/errors.ts'

/** Refuses calls of an app that the operator has disabled. */
export function requireEnabled({ isDisabled }: Pick<AppFacts, 'isDisabled'>) {
  if (isDisabled) throw new ApiError('APP_DISABLED', 'The app is disabled')
}
