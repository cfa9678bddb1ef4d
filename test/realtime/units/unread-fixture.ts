import type { Envelope } from '@parley/contract'
import { type Db, DeadlineError } from '@parley/server/db/client'
import type { CountsNote } from '@parley/server/realtime/broker/index'
import { type Session, Sessions } from '@parley/server/realtime/sessions'
import type { ConnectedCount } from '@parley/server/realtime/unread/counts'
import { UnreadNotifier } from '@parley/server/realtime/unread/index'
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
  snapshot: 0,
})
export const user = (userId: string) => ({ appId, userId })
const sessionOf = (userId: string) => user(userId) as Session // nothing else of it is used

export const timeout = () => Object.assign(new Error('canceling statement'), { code: '57014' })
/** The error that the pool throws when it was full for most of the time. */
export const cutShort = () => Object.assign(new DeadlineError(), { isCutShort: true })

/** Everything that is sent within this time, which includes the results of follow-up work. */
export async function eventsWithin(seconds: number, events: () => Promise<string[]>) {
  const sent: string[] = []
  for (let passed = 0; passed < seconds * 1_000; passed += PAUSE_MS) sent.push(...(await events()))
  return sent
}

/** Everything that is sent within this time, with the seconds after which it was first sent. */
export async function timesWithin(seconds: number, events: () => Promise<string[]>) {
  const times = new Map<string, number>()
  for (let passed = 0; passed < seconds * 1_000; passed += PAUSE_MS) {
    for (const each of await events())
      if (!times.has(each)) times.set(each, (passed + PAUSE_MS) / 1_000)
  }
  return times
}

/** A notifier for ana, ben and cem, on rows in memory that tests change. */
export function openNotifier(...rows: Row[]) {
  const { timers } = stopTimers()
  const sessions = new Sessions()
  for (const userId of ['ana', 'ben', 'cem']) sessions.add(sessionOf(userId))
  const sent: string[] = []
  /** The versions of the totals among them. */
  const versions: (number | undefined)[] = []
  const problems: string[] = []
  const notes: CountsNote[] = []
  const database = {
    rows,
    /** The number of the snapshot that statements read. */
    snapshot: 0,
    /** The keys of each statement. */
    keys: [] as string[][],
    get statements() {
      return database.keys.length
    },
    failure: undefined as Error | undefined,
    /** Pending while the node may not receive notes for all its users yet. */
    settled: undefined as Promise<void> | undefined,
    hasReceivers: true,
    /** How long a statement takes that works, by its keys, and one that does not, at most. */
    readMs: (_keys: string[]) => 0,
    timeoutMs: 0,
    /**
     * Called before a statement reads, with its keys, whether it counts for this node only, and for
     * how many seconds back it looks for reads.
     */
    onStatement: (_keys: string[], _isOwn: boolean, _readWithinSeconds: number) => {},
    /** Called once, after the next statement has read. */
    afterStatement: undefined as (() => void) | undefined,
  }
  let isOwn = false
  /** How long the next statement may take, if less than others. */
  let limitMs = Number.POSITIVE_INFINITY
  const select = (text: TemplateStringsArray, ...values: unknown[]) => {
    const sql = text.join('')
    if (sql.includes("set_config('statement_timeout'")) limitMs = Number(values[0])
    isOwn ||= sql.includes('and node_id')
    if (!sql.includes('as count')) return undefined // a part of a statement
    // Statements on users have two lists of keys: the second one has their ids.
    const keys = values.findLast((value): value is string[] => Array.isArray(value)) ?? []
    database.keys.push(keys)
    const wasOwn = isOwn
    isOwn = false
    const seconds = values.find((value) => typeof value === 'number') ?? 0
    database.onStatement(keys, wasOwn, seconds)
    const read = database.rows.filter(
      ({ nodeId, channelId, userId }) =>
        (keys.includes(channelId) && !(wasOwn && nodeId !== 'node')) || keys.includes(userId),
    )
    const { afterStatement, snapshot } = database
    database.afterStatement = undefined
    afterStatement?.()
    const counts = read.map((count) => ({ ...count, snapshot }))
    return counts.length === 0 && sql.includes('is_recent') ? [{ snapshot }] : counts
  }
  const takeTime = async (ms: number) => {
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
  }
  const use = async (work: (db: typeof select) => unknown) => {
    if (database.failure) throw database.failure
    const reading = (async () => work(select))()
    const [keys = [], mostMs] = [database.keys.at(-1), limitMs]
    limitMs = Number.POSITIVE_INFINITY
    try {
      const read = await reading
      if (database.readMs(keys) > mostMs) throw timeout()
      await takeTime(database.readMs(keys))
      return read
    } catch (error) {
      await takeTime(Math.min(database.timeoutMs, mostMs))
      throw error
    }
  }
  const notifier = new UnreadNotifier({
    db: { use } as unknown as Db, // it only reads
    nodeId: 'node',
    sessions,
    pauseMs: PAUSE_MS,
    interest: { settled: () => database.settled },
    hasReceivers: () => database.hasReceivers,
    send: (note) => void notes.push(note),
    broadcast: ([topic], { type, payload }: Envelope) => {
      const what = 'channelId' in payload ? payload.channelId : 'total'
      const count = 'count' in payload ? payload.count : type
      sent.push(`${topic?.split(':').at(-1)} ${what} ${count}`)
      if (type === 'channel.total_unread_changed') versions.push(payload.version)
    },
    report: (_, problem) => void problems.push(problem),
  })
  /** Everything that was sent since the last call, once all due work is done. */
  const events = async (milliseconds = PAUSE_MS) => {
    await pass(milliseconds)
    return sent.splice(0)
  }
  return { notifier, database, sessions, problems, notes, events, versions, timers }
}
