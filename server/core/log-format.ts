import { stdTimeFunctions } from 'pino'
import { errorField } from './describe-error.ts'

/**
 * How all our lines look: levels by name, times that people read, which node wrote them, and which
 * of the processes that share a port.
 */
export const logFormat = (level: string, nodeId?: string, worker?: number) => ({
  level,
  base: nodeId === undefined ? null : { node: nodeId.slice(0, 8), ...(worker && { worker }) },
  timestamp: stdTimeFunctions.isoTime,
  // Errors are logged outside of calls, too: by jobs, by sockets, at the end of the process.
  serializers: { err: errorField },
  formatters: { level: (label: string) => ({ level: label }) },
})
