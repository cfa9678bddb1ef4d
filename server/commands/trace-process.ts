import { limits } from '@parley/contract'
import type { Config } from '../config/index.ts'
import type { StopFunction } from '../process/lifecycle.ts'
import { processLog } from '../process/process-log.ts'

/** Sends spans if there is an address for them. Otherwise nothing of OpenTelemetry is loaded. */
export async function traceProcess({ sendsSpans }: Config, stopFunctions: StopFunction[]) {
  if (!sendsSpans) return
  const { startTracing } = await import('../core/opentelemetry.ts')
  stopFunctions.push(
    startTracing({ version: limits.apiVersion, warn: (problem) => processLog.warn(problem) }),
  )
}
