import type { Db } from '../db/client.ts'
import type { Hub } from './hub.ts'
import type { PresenceTracker } from './presence.ts'
import { closings } from './protocol/codes.ts'
import { selectGenerations, selectMarking, selectRemoved } from './queries.ts'
import type { Sessions, User } from './sessions.ts'
import type { UnreadNotifier } from './unread.ts'

type Options = {
  db: Db
  hub: Hub
  sessions: Sessions
  presences: PresenceTracker
  unread: UnreadNotifier
  recheck: (user: User) => void
}

/** What has happened so long before the last comparison may have become visible after it. */
const OVERLAP_SECONDS = 15

/** Compares this node with the database: whatever was missed, by the node or by the broker, however long, is found here. */
export function createReconciliation({ db, hub, sessions, presences, unread, recheck }: Options) {
  let comparedAt = Date.now()

  const closeRevoked = async () => {
    const users = sessions.users()
    const generations = users.length === 0 ? [] : await db.use((db) => selectGenerations(db, users))
    users.forEach((user, index) => {
      for (const session of sessions.of(user))
        if (session.generation !== generations[index]) session.close(closings.forced)
    })
  }
  return async () => {
    const startedAt = Date.now()
    const seconds = (startedAt - comparedAt) / 1_000 + OVERLAP_SECONDS
    // Counts are told to whom the database has as connected.
    if (await presences.beat()) unread.doubt()
    const [recent, removed] = await Promise.all([
      db.use((db) => selectMarking(db, seconds)),
      db.use((db) => selectRemoved(db, seconds)),
      hub.reconcile(),
      presences.sweep(),
      closeRevoked(),
    ])
    unread.check(recent)
    for (const user of removed) if (sessions.has(user)) recheck(user)
    comparedAt = startedAt
  }
}
