import type { Metrics } from '../core/metrics.ts'
import { operations } from '../features/index.ts'
import { type CallDependencies, createCall } from './call.ts'
import { instrument } from './instrument.ts'
import type { Calls } from './rest.ts'

/** Every operation as a call that is measured, by noun and verb. */
export function instrumentedCalls(
  metrics: Metrics,
  dependencies: Omit<CallDependencies, 'batchRunners'>,
) {
  const shared = { ...dependencies, batchRunners: new Map() }
  const calls: { [noun: string]: Calls[keyof Calls] } = {}
  for (const [noun, implementations] of Object.entries(operations)) {
    const verbs: Calls[keyof Calls] = {}
    for (const [verb, implementation] of Object.entries(implementations)) {
      const call = createCall(shared, implementation)
      const operation = `${noun}.${verb}`
      verbs[verb] = { op: implementation.op, call: instrument(metrics, { operation, call }) }
    }
    calls[noun] = verbs
  }
  return calls as Calls // the same nouns and verbs
}
