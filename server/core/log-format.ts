import { stdTimeFunctions } from 'pino'

/** How all our lines look: levels by name, times that people read, and which node wrote them. */
export const logFormat = (level: string, nodeId?: string) => ({
  level,
  base: nodeId === undefined ? null : { node: nodeId.slice(0, 8) },
  timestamp: stdTimeFunctions.isoTime,
  formatters: { level: (label: string) => ({ level: label }) },
})
