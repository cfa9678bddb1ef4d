import { type Cause, runInTransaction } from '../../core/context.ts'
import type { EventPublisher } from '../../core/event-bus.ts'
import type { JobStaging } from '../../core/jobs.ts'
import type { AppendedText, Streams } from '../../core/streams.ts'
import type { Db } from '../../db/client.ts'
import { type StreamRef, selectUnstored, storeStream } from '../../features/streams/store.ts'
import { createSchedule } from '../schedule.ts'
import { timings as defaults, type Timings } from '../timings.ts'
import { createTurns } from '../turns.ts'
import { createDeltas } from './deltas.ts'
import { storeLeft } from './left.ts'

/** How many messages a node stores at once. */
const STORES_AT_ONCE = 2
/** How many left messages it looks up at once, and how many of one app at most. */
const LEFT = 100
const LEFT_OF_APP = 20
/** After this many of its intervals without being stored, a message counts as left by its node. */
const LEFT_AFTER_TIMES = 5
const PROBLEM = 'storing a streamed text failed'

type StreamsOptions = {
  db: Pick<Db, 'use'>
  publisher: EventPublisher
  staging: JobStaging
  timings?: Partial<Timings> | undefined
  report: (error: unknown, problem: string) => void
}

/**
 * Handles appended text, which is in the database already, on whichever node: subscribers
 * are sent it at once, and soon after the node that took it stores it in its message. Every node
 * looks for messages that were left, by nodes that died or could not store them, and for those
 * whose authors are quiet.
 */
export function createStreams({ db, publisher, staging, report, timings: given }: StreamsOptions) {
  const timings = { ...defaults, ...given }
  const times = {
    storeMs: timings.streamStoreMs,
    quietMs: timings.streamQuietMs,
    longestMs: timings.streamLongestMs,
  }
  const deltas = createDeltas({ publisher, pauseMs: timings.deltaMs })
  const schedule = createSchedule(report)
  /** The timers of growing messages, until each is stored. */
  const timers = new Map<string, { timer: NodeJS.Timeout; store: () => Promise<void> }>()
  const inTurn = createTurns(STORES_AT_ONCE)
  let isStopped = false

  const store = (ref: StreamRef, cause: Cause) =>
    db.use((connection, signal) => {
      const options = { appId: ref.appId, signal, publisher, staging, cause }
      return runInTransaction(connection, options, (ctx) => storeStream(ctx, ref, times))
    })
  const storeLater = (ref: StreamRef, cause: Cause, milliseconds: number) => {
    const { messageId } = ref
    if (timers.has(messageId)) return
    const storeNow = async () => {
      timers.delete(messageId)
      const dueInMs = await inTurn(ref.appId, () => store(ref, cause))
      if (dueInMs > 0) storeLater(ref, cause, dueInMs)
    }
    // If it fails here, the next search for left messages finds it.
    const run = () => storeNow().catch((error) => report(error, PROBLEM))
    timers.set(messageId, { timer: setTimeout(run, milliseconds), store: run })
  }
  /** Returns false if it failed, which was reported. */
  const tryToStore = async (ref: StreamRef, isResting: () => boolean) => {
    try {
      return await inTurn(ref.appId, async () => {
        if (isStopped || isResting()) return false
        await store(ref, {})
        return true
      })
    } catch (error) {
      report(error, PROBLEM)
      return false
    }
  }
  const unstoredMs = LEFT_AFTER_TIMES * times.storeMs
  /** One message of each app, or more if few apps have any. */
  const next = async (resting: string[]) => {
    if (isStopped) return []
    const select = (ofApp: number) =>
      db.use((db) => selectUnstored(db, { unstoredMs, limit: LEFT, ofApp, resting }))
    const first = await select(1)
    return first.length === 0 || first.length === LEFT ? first : select(LEFT_OF_APP)
  }
  const appended = ({ cause, ...append }: AppendedText) => {
    if (append.text === '') return
    deltas.add({ ...append, cause })
    const { appId, channelId, messageId } = append
    storeLater({ appId, channelId, messageId }, cause, times.storeMs)
  }
  return {
    appended,
    start: () =>
      schedule.every(timings.reconcileMs, {
        work: () => {
          const until = performance.now() + timings.reconcileMs
          return storeLeft({ next, store: tryToStore, until })
        },
        problem: 'storing streamed texts that were left failed',
      }),
    /** Stores what waits. To be called before the database is closed. */
    stop: async () => {
      isStopped = true
      schedule.stop()
      deltas.stop()
      const waiting = [...timers.values()]
      for (const { timer } of waiting) clearTimeout(timer)
      await Promise.all(waiting.map(({ store }) => store()))
      for (const { timer } of timers.values()) clearTimeout(timer)
    },
  } satisfies Streams & { start: () => void; stop: () => Promise<void> }
}
