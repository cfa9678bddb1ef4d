import type { Envelope } from '@parley/contract'
import type { Db } from '@parley/server/db/client'
import type { CountsNote } from '@parley/server/realtime/broker'
import { type Session, Sessions } from '@parley/server/realtime/sessions'
import { UnreadNotifier } from '@parley/server/realtime/unread'
import type { ConnectedCount } from '@parley/server/realtime/unread-counts'
import { appId, pass, stopTimers } from '../hub/fixture.ts'

export const PAUSE_MS = 250
type Row = ConnectedCount & { isRecent?: boolean }
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
  const notes: CountsNote[] = []
  const database = {
    rows,
    /** The keys of each statement. */
    keys: [] as string[][],
    get statements() {
      return database.keys.length
    },
    failure: undefined as Error | undefined,
    isHeard: true,
    /** Called before a statement reads, with its keys, and whether it counts for this node only. */
    onStatement: (_keys: string[], _isOwn: boolean) => {},
    /** Called once, after the next statement has read. */
    afterStatement: undefined as (() => void) | undefined,
  }
  let isOwn = false
  const select = (text: TemplateStringsArray, ...values: unknown[]) => {
    const sql = text.join('')
    isOwn ||= sql.includes('and node_id')
    if (!sql.includes('as count')) return undefined // a part of a statement
    // Of users there are two lists of keys: the second has their ids.
    const keys = values.findLast((value): value is string[] => Array.isArray(value)) ?? []
    database.keys.push(keys)
    const wasOwn = isOwn
    isOwn = false
    database.onStatement(keys, wasOwn)
    const read = database.rows.filter(
      ({ nodeId, channelId, userId }) =>
        (keys.includes(channelId) && !(wasOwn && nodeId !== 'node')) || keys.includes(userId),
    )
    const { afterStatement } = database
    database.afterStatement = undefined
    afterStatement?.()
    return read
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
