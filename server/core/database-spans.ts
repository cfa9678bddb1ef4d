import type { Around } from '../db/pool.ts'
import { activeSpan, inSpan, isTracing } from './spans.ts'

/** The longest text of a span: its statements, with placeholders instead of values. */
const LONGEST = 4_000

/** Shows each use of a connection in the trace of the call or job that it is for. */
export const databaseSpans = (): Around | undefined => (isTracing() ? around : undefined)

const around: Around = async (run) => {
  // The server's own work is in no trace.
  if (!activeSpan()) return run()
  const attributes = { 'db.system.name': 'postgresql' }
  return inSpan(
    () => ({ name: 'SQL', kind: 'client', attributes }),
    (span) => {
      let text = ''
      return run((statement) => {
        if (text.length > LONGEST) return
        text += `${text === '' ? '' : '; '}${statement.replace(/\s+/g, ' ').trim()}`
        span?.set({ 'db.query.text': text.slice(0, LONGEST) })
      })
    },
  )
}
