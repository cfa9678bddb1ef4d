import type { Metrics } from '../core/metrics.ts'
import type { Call } from './call.ts'
import { toApiError } from './errors.ts'

/** Wraps a call so that its duration is measured, by outcome. */
export const instrument =
  (
    { operations }: Pick<Metrics, 'operations'>,
    { operation, call }: { operation: string; call: Call },
  ): Call =>
  async (request, raw) => {
    const stopTimer = operations.startTimer({ operation })
    try {
      const output = await call(request, raw)
      stopTimer({ outcome: 'ok' })
      return output
    } catch (error) {
      stopTimer({ outcome: toApiError(error).code })
      throw error
    }
  }
