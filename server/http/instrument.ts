import type { Metrics } from '../core/metrics.ts'
import type { Call } from './call.ts'
import { toApiError } from './errors.ts'

/** A call that is measured, by what became of it. */
export const instrument =
  (
    { operations }: Pick<Metrics, 'operations'>,
    { operation, call }: { operation: string; call: Call },
  ): Call =>
  async (request, raw) => {
    const end = operations.startTimer({ operation })
    try {
      const output = await call(request, raw)
      end({ outcome: 'ok' })
      return output
    } catch (error) {
      end({ outcome: toApiError(error).code })
      throw error
    }
  }
