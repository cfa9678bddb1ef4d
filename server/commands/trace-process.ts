import { limits } from '@parley/contract'
import type { Config } from '../config.ts'
import type { StopFunction } from '../lifecycle.ts'
import { processLog } from '../process-log.ts'

/** Sends spans if there is an address for them. Otherwise nothing of OpenTelemetry is loaded. */
export async function traceProcess({ sendsSpans }: Config, stopFunctions: StopFunction[]) {
  if (!sendsSpans) return
  const { startTracing } = await import('../core/opentelemetry.ts')
  stopFunctions.push(
    startTracing({ version: limits.apiVersion, warn: (problem) => processLog.warn(problem) }),
  )
}
