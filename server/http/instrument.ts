import type { Metrics } from '../core/metrics.ts'
import { inSpan } from '../core/spans.ts'
import type { Credentials } from './authenticate.ts'
import type { Call } from './call.ts'
import { toApiError } from './errors.ts'
import { noteError } from './request-facts.ts'

type CallMetrics = Pick<
  Metrics,
  'operations' | 'credentialsRefused' | 'countAppCall' | 'countAppRateLimited'
>

/** Wraps a call to measure its duration by outcome, and to note it for the log. */
export const instrument =
  (metrics: CallMetrics, { operation, call }: { operation: string; call: Call }): Call =>
  async (request, readInput) => {
    const { facts, credentials } = request
    facts.operations.push(operation)
    const stopTimer = metrics.operations.startTimer({ operation })
    try {
      const output = await inSpan(
        () => ({ name: operation, kind: 'internal' }),
        () => call(request, readInput),
      )
      stopTimer({ outcome: 'ok' })
      return output
    } catch (error) {
      const apiError = toApiError(error)
      const { code } = apiError
      stopTimer({ outcome: code })
      noteError(facts, apiError)
      if (code === 'UNAUTHORIZED' || code === 'INVALID_TOKEN')
        metrics.credentialsRefused.inc({ credential: givenIn(credentials), code })
      if (code === 'RATE_LIMITED' && facts.appId) metrics.countAppRateLimited(facts.appId)
      throw error
    } finally {
      if (facts.appId) metrics.countAppCall(facts.appId)
    }
  }

function givenIn({ adminKey, apiKey, authorization }: Credentials) {
  if (adminKey !== undefined) return 'admin_key'
  if (apiKey !== undefined) return 'api_key'
  return authorization === undefined ? 'none' : 'token'
}
