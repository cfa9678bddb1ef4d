import type { Services } from '../../core/context.ts'
import { ApiError } from '../../core/errors.ts'

/** Refuses a URL to which nothing may be sent. */
export function requireUrl(
  { webhookUrlProblem }: Pick<Services, 'webhookUrlProblem'>,
  url: string,
) {
  const problem = webhookUrlProblem(url)
  if (problem !== undefined) throw new ApiError('VALIDATION_ERROR', `url: ${problem}`)
}
