import type { UserRef } from '../core/user-ref.ts'
import type { Db } from '../db/client.ts'
import type { Hub } from './hub.ts'
import type { KnownPresence } from './known-presence.ts'
import type { MissedProfiles } from './missed-profiles.ts'
import type { PresenceTracker } from './presence.ts'
import { closings } from './protocol/codes.ts'
import { selectGenerations, selectRemoved, selectUnreadChanges } from './queries.ts'
import { inTurn } from './schedule.ts'
import type { Sessions } from './sessions.ts'
import type { UnreadNotifier } from './unread.ts'

type ReconciliationOptions = {
  db: Db
  hub: Hub
  sessions: Sessions
  presence: PresenceTracker
  knownPresence: KnownPresence
  missedProfiles: MissedProfiles
  unread: UnreadNotifier
  recheck: (user: UserRef) => void
}

/** Overlap: transactions may commit after the previous check although their rows are older. */
const OVERLAP_SECONDS = 15
/**
 * How many times a node reconciles after it missed notes before it compares presence: when the
 * database has crashed, the other nodes restore their rows in the meantime.
 */
const PASSES_BEFORE_PRESENCE = 3

/**
 * Compares this node with the database and repairs what the node or the broker missed, however long
 * ago that was.
 */
export function createReconciliation(options: ReconciliationOptions) {
  const { db, hub, sessions, presence, knownPresence, missedProfiles, unread, recheck } = options
  let checkedAt = performance.now()
  let passesBeforePresence = 0

  const closeRevoked = async () => {
    const users = sessions.users()
    if (users.length === 0) return
    const generations = await db.use((db) => selectGenerations(db, users))
    for (const [index, user] of users.entries()) {
      const revoked = sessions.of(user).filter((each) => each.generation !== generations[index])
      for (const session of revoked) session.close(closings.forced)
    }
  }
  /** Notes may have been missed during the last `seconds`: from other nodes, or to users here. */
  const missedNotes = (seconds: number) => {
    unread.recheck(seconds + OVERLAP_SECONDS)
    missedProfiles.missed(seconds * 1_000)
    passesBeforePresence = PASSES_BEFORE_PRESENCE
  }
  /** Writes the heartbeat. If rows of this node were lost, notes to its users were lost as well. */
  const beat = async () => {
    if (!(await presence.heartbeat())) return
    unread.invalidateAll()
    missedNotes((performance.now() - checkedAt) / 1_000)
  }
  const comparePresence = async () => {
    if (passesBeforePresence === 0 && knownPresence.hasLost)
      passesBeforePresence = PASSES_BEFORE_PRESENCE
    if (passesBeforePresence === 0) return
    if (passesBeforePresence === 1) await knownPresence.compare()
    passesBeforePresence -= 1
  }
  // Two at once would count their passes wrongly, and forget the notes that the other one heeds.
  const reconcile = inTurn(async () => {
    const startedAt = performance.now()
    const seconds = (startedAt - checkedAt) / 1_000 + OVERLAP_SECONDS
    // Counts are sent only to users who have a presence row.
    await beat()
    const [changes, removed] = await Promise.all([
      db.use((db) => selectUnreadChanges(db, seconds)),
      db.use((db) => selectRemoved(db, seconds)),
      hub.reconcile(),
      presence.removeDeadNodes(),
      closeRevoked(),
    ])
    unread.handleChanges(changes)
    for (const user of removed) {
      if (sessions.has(user)) recheck(user)
    }
    checkedAt = startedAt
    await missedProfiles.catchUp()
    await comparePresence()
  })
  return { reconcile, beat, missedNotes }
}
