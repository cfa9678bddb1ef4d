import type { Envelope } from '@parley/contract'
import type { Db } from '@parley/server/db/client'
import type { NodeNote } from '@parley/server/realtime/broker'
import { type Session, Sessions } from '@parley/server/realtime/sessions'
import { UnreadNotifier } from '@parley/server/realtime/unread'
import type { ConnectedCount } from '@parley/server/realtime/unread-counts'
import { appId, pass, stopTimers } from '../hub/fixture.ts'

export const PAUSE_MS = 250
type Row = ConnectedCount
export const row = (userId: string, channelId: string, count: number, version = 0): Row => ({
  nodeId: 'node',
  appId,
  userId,
  channelId,
  count,
  version,
})
export const user = (userId: string) => ({ appId, userId })
const sessionOf = (userId: string) => user(userId) as Session // nothing else of it is used

/** A notifier for ana, ben and cem, on rows in memory that tests change. */
export function openNotifier(...rows: Row[]) {
  stopTimers()
  const sessions = new Sessions()
  for (const userId of ['ana', 'ben', 'cem']) sessions.add(sessionOf(userId))
  const sent: string[] = []
  const problems: string[] = []
  const notes: NodeNote[] = []
  const database = { rows, statements: 0, failure: undefined as Error | undefined, isHeard: true }
  const select = (text: TemplateStringsArray, ...values: unknown[]) => {
    if (!text.join('').includes('as count')) return undefined // a part of a statement
    database.statements += 1
    const [keys] = values.filter((value) => Array.isArray(value))
    return database.rows.filter((each) => keys?.some((key) => Object.values(each).includes(key)))
  }
  const use = async (work: (db: typeof select) => unknown) => {
    if (database.failure) throw database.failure
    return work(select)
  }
  const notifier = new UnreadNotifier({
    db: { use } as unknown as Db, // it only reads
    nodeId: 'node',
    sessions,
    pauseMs: PAUSE_MS,
    countedMs: PAUSE_MS,
    isHeard: () => database.isHeard,
    send: (note) => void notes.push(note),
    broadcast: ([topic], { type, payload }: Envelope) => {
      const what = 'channelId' in payload ? payload.channelId : 'total'
      const count = 'count' in payload ? payload.count : type
      sent.push(`${topic?.split(':').at(-1)} ${what} ${count}`)
    },
    report: (_, problem) => void problems.push(problem),
  })
  /** What was sent since the last call, after all that is due. */
  const news = async (milliseconds = PAUSE_MS) => {
    await pass(milliseconds)
    return sent.splice(0)
  }
  return { notifier, database, sessions, problems, notes, news }
}
