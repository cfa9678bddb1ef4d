import type { Db, Tx } from '../db/client.ts'
import type { PresenceNote } from './broker.ts'
import { keyOf, type User } from './sessions.ts'

type KnownPresenceOptions = {
  db: Db
  deadAfterMs: number
  /** Tells the users of this node. */
  tell: (change: PresenceNote) => void
}

/**
 * Who is online as the users of this node were told, on whichever node, to find what they missed.
 */
export class KnownPresence {
  #online = new Map<string, User>()
  /** Users of whom a note came during a comparison: it may be newer than what is compared. */
  readonly #noted = new Set<string>()

  constructor(readonly options: KnownPresenceOptions) {}

  /** The users of this node are told of this change. */
  note(change: PresenceNote) {
    const key = keyOf(change)
    if (change.isOnline) this.#online.set(key, { appId: change.appId, userId: change.userId })
    else this.#online.delete(key)
    this.#noted.add(key)
  }

  /** Takes what is stored as known. */
  async start() {
    for (const user of await this.#select()) this.#online.set(keyOf(user), user)
  }

  /** Tells the users of this node what differs from what they were told. */
  async compare() {
    this.#noted.clear()
    const stored = new Map((await this.#select()).map((user) => [keyOf(user), user]))
    const different = [...new Map([...this.#online, ...stored])].flatMap(([key, user]) =>
      stored.has(key) === this.#online.has(key) || this.#noted.has(key) ? [] : [user],
    )
    const { db, tell } = this.options
    const users = await db.use((db) => selectLastActive(db, different))
    for (const { appId, userId, lastActiveAt } of users) {
      const key = keyOf({ appId, userId })
      if (this.#noted.has(key)) continue
      const change = { appId, userId, isOnline: stored.has(key), lastActiveAt }
      this.note({ kind: 'presence', ...change })
      tell({ kind: 'presence', ...change })
    }
  }

  #select() {
    const { db, deadAfterMs } = this.options
    return db.use((db) => selectOnline(db, deadAfterMs))
  }
}

const selectOnline = (db: Tx, deadAfterMs: number) => db<User[]>`
  select distinct con.app_id, con.user_id
  from nodes n
  join connections con on con.node_id = n.id
  where n.beat_at > now() - ${deadAfterMs} * interval '1 millisecond'`

const selectLastActive = (db: Tx, users: User[]) => {
  const appIds = users.map(({ appId }) => appId)
  const userIds = users.map(({ userId }) => userId)
  return db<(User & { lastActiveAt: string | null })[]>`
    select given.app_id, given.user_id, u.last_active_at
    from unnest(${appIds}::uuid[], ${userIds}::text[]) as given (app_id, user_id)
    join users u on u.app_id = given.app_id and u.id = given.user_id`
}
