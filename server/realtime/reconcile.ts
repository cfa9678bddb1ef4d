import type { UserRef } from '../core/user-ref.ts'
import type { Db } from '../db/client.ts'
import { createStuckSessions } from '../db/stuck-sessions.ts'
import { inChunks } from './chunks.ts'
import type { MissedCopies } from './fanout/missed-copies.ts'
import type { MissedProfiles } from './fanout/missed-profiles.ts'
import type { Hub } from './hub.ts'
import type { PresenceTracker } from './presence/index.ts'
import type { KnownPresence } from './presence/known.ts'
import { closings } from './protocol/codes.ts'
import { selectGenerations, selectRemoved, selectUnreadChanges } from './queries.ts'
import { inTurn, oneAtATime } from './schedule.ts'
import type { Sessions } from './sessions.ts'
import { createSteadiness } from './steadiness.ts'
import type { Timings } from './timings.ts'
import type { UnreadNotifier } from './unread/index.ts'

type ReconciliationOptions = {
  db: Db
  hub: Hub
  sessions: Sessions
  presence: PresenceTracker
  knownPresence: KnownPresence
  missedProfiles: MissedProfiles
  missedCopies: MissedCopies
  unread: UnreadNotifier
  recheck: (user: UserRef) => void
  recheckFailed: () => void
  report: (error: unknown, problem: string) => void
  timings: Pick<Timings, 'beatMs' | 'lookMs' | 'steadyMs' | 'comparePresenceMs' | 'othersCountMs'>
}

/**
 * An overlap, because transactions may commit after the previous check although their rows are
 * older.
 */
const OVERLAP_SECONDS = 15
/** How long the ending of stuck sessions may take between two heartbeats. */
const LOOK_PATIENCE_MS = 1_000
/** How many users one statement checks. */
const USERS_PER_STATEMENT = 1_000

/**
 * Compares this node with the database and repairs what the node or the broker missed, however long
 * ago that was.
 */
export function createReconciliation(options: ReconciliationOptions) {
  const { db, hub, sessions, presence, knownPresence, unread, recheck } = options
  const { missedProfiles, missedCopies, report, timings } = options
  const steadiness = createSteadiness(timings)
  let checkedAt = performance.now()
  /**
   * When this node last had no users, as far as is known. Users who connected later loaded what was
   * there by then, so nothing before it was missed. Without this, an hour without a database would
   * mean an hour of events.
   */
  let emptyAt = checkedAt
  /** When to compare presence with the database; undefined if not at all. */
  let compareAt: number | undefined
  /** The end of the last gap: a comparison too soon after it is repeated. */
  let gapAt = Number.NEGATIVE_INFINITY
  /** Whether rows of this node's users were missing at the last heartbeat. */
  let areRowsLost = false

  const closeRevoked = async () => {
    const users = sessions.users()
    for (const some of inChunks(users, USERS_PER_STATEMENT)) {
      // A session that begins meanwhile, or gets another token, may be newer than the answer.
      const known = some.map((user) =>
        sessions.of(user).map((session) => ({ session, generation: session.generation })),
      )
      const generations = await db.use((db) => selectGenerations(db, some))
      for (const [index, current] of generations.entries()) {
        for (const { session, generation } of known[index] ?? []) {
          const isRevoked = generation !== current && generation === session.generation
          if (isRevoked) session.close(closings.forced)
        }
      }
    }
  }
  /**
   * Notes may have been missed during the last `silentSeconds`: from other nodes or the given one,
   * or to users here.
   */
  const missedNotes = (silentSeconds: number, nodeId?: string) => {
    const seconds = Math.min(silentSeconds, (performance.now() - emptyAt) / 1_000)
    unread.recheck(seconds + OVERLAP_SECONDS)
    missedProfiles.missed(seconds * 1_000)
    missedCopies.missed(seconds * 1_000)
    knownPresence.handleMissedNotes(seconds * 1_000, nodeId)
    compareLater()
  }
  const compareLater = () => {
    gapAt = performance.now()
    compareAt ??= gapAt + timings.comparePresenceMs
  }
  /** If this node's rows were lost, notes to its users were lost with them. */
  const handleLostRows = (areLost: boolean) => {
    if (!areLost) return
    unread.invalidateAll()
    knownPresence.handleLostRows()
    missedNotes((performance.now() - checkedAt) / 1_000)
  }
  const isComparisonDue = () => compareAt !== undefined && performance.now() >= compareAt
  const comparePresence = async () => {
    const now = performance.now()
    if (knownPresence.hasLost) compareAt ??= now + timings.comparePresenceMs
    if (!isComparisonDue()) return
    await knownPresence.compare()
    const againAt = gapAt + timings.comparePresenceMs
    compareAt = againAt > now ? againAt : undefined
  }
  const beat = async () => {
    try {
      areRowsLost = await presence.beat()
    } catch (error) {
      steadiness.failed()
      throw error
    }
    steadiness.worked()
    if (!presence.hasClockStepped) return
    // Until each node has written another heartbeat, it may look dead to the others.
    steadiness.failed()
    compareLater()
  }
  const stuckDatabaseSessions = createStuckSessions()
  // A hosting provider may forbid it. Nothing else depends on it.
  const endStuck = (until?: number) =>
    db
      .useApart(stuckDatabaseSessions.end, until)
      .catch((error) => report(error, 'stuck sessions not ended'))
  /**
   * Cleans up after nodes that died or were cut off. Never twice at once: each comparison would
   * forget the notes that the other one needs.
   */
  const watchOthers = oneAtATime(async () => {
    await endStuck()
    if (areRowsLost) handleLostRows(await presence.compareRows())
    presence.announceMissed()
    if (steadiness.isSteady()) await presence.removeDeadNodes()
    await comparePresence()
  })
  /** Does work that cannot wait for the next heartbeat. */
  const look = async () => {
    if (isComparisonDue()) await watchOthers()
    // Work that takes so long may wait for the locks of a session that is stuck. The heartbeat, on
    // the same connection, waits for this.
    else if (db.longestMs() > timings.lookMs) await endStuck(performance.now() + LOOK_PATIENCE_MS)
  }
  const reconcile = inTurn(async () => {
    const startedAt = performance.now()
    if (sessions.isEmpty) emptyAt = startedAt
    const seconds = (startedAt - Math.max(checkedAt, emptyAt)) / 1_000 + OVERLAP_SECONDS
    // Counts are sent only to users who have a presence row.
    handleLostRows(await presence.compareRows())
    const [changes, removed] = await Promise.all([
      db.use((db) => selectUnreadChanges(db, { seconds, leastMs: timings.othersCountMs })),
      db.use((db) => selectRemoved(db, seconds)),
      hub.reconcile(),
      closeRevoked(),
    ])
    unread.handleChanges(changes)
    options.recheckFailed()
    for (const user of removed) {
      if (sessions.has(user)) recheck(user)
    }
    // Those to whom a change is sent are found some time after it was recorded.
    knownPresence.rowsWereThere(startedAt - OVERLAP_SECONDS * 1_000)
    checkedAt = startedAt
    await missedProfiles.catchUp()
    await missedCopies.catchUp()
  })
  return { reconcile, beat, watchOthers, look, missedNotes }
}
