import { limits } from '@parley/contract'
import { type UserRef, userKey } from '../core/user-ref.ts'
import type { Db, Tx } from '../db/client.ts'
import type { PresenceNote } from './broker.ts'

type KnownPresenceOptions = {
  db: Db
  /** Tells the users of this node. */
  notify: (change: PresenceNote) => void
  /** Tells the users of all nodes. */
  notifyAll: (change: PresenceNote) => void
}

/** For how long it is known which changes were noted. */
const RECENT_MS = 60_000

/**
 * Which users this node last noted as online; compared with the database to find missed changes.
 * What the users of this node are told of a change comes in a note of its own, which may be lost
 * even if the change was noted.
 */
export class KnownPresence {
  #online = new Map<string, UserRef>()
  /** Users whose note arrived during a comparison, and may be newer than it. */
  readonly #noted = new Set<string>()
  /** When the changes of the last minute were noted, in this order. */
  readonly #recent = new Map<string, { user: UserRef; at: number }>()
  /** Users whose last change this node could not send. */
  readonly #lost = new Map<string, UserRef>()
  /** Users whose last change may not have been told to users of this node. */
  readonly #untold = new Map<string, UserRef>()

  constructor(readonly options: KnownPresenceOptions) {}

  /** A node sends the change to the users whom it concerns. */
  record({ appId, userId, isOnline }: PresenceNote) {
    const user = { appId, userId }
    const key = userKey(user)
    if (isOnline) this.#online.set(key, user)
    else this.#online.delete(key)
    this.#noted.add(key)
    this.#lost.delete(key)
    this.#untold.delete(key)
    const at = performance.now()
    this.#recent.delete(key)
    this.#recent.set(key, { user, at })
    for (const [key, noted] of this.#recent) {
      if (noted.at > at - RECENT_MS) break
      this.#recent.delete(key)
    }
  }

  /** What others sent the users of this node in the last milliseconds may be lost. */
  missed(milliseconds: number) {
    const since = performance.now() - milliseconds
    for (const [key, { user, at }] of this.#recent) {
      if (at >= since) this.#untold.set(key, user)
    }
  }

  /** The change could not be sent to the users whom it concerns: the next comparison sends it. */
  handleLost({ appId, userId }: PresenceNote) {
    const user = { appId, userId }
    this.#lost.set(userKey(user), user)
  }

  get hasLost() {
    return this.#lost.size > 0
  }

  /** Begins with the stored presence as known. */
  async start() {
    for (const user of await this.#select()) this.#online.set(userKey(user), user)
  }

  /** Sends the users of this node the presence that differs from what they were last sent. */
  async compare() {
    this.#noted.clear()
    const stored = new Map((await this.#select()).map((user) => [userKey(user), user]))
    const owed = new Map([...this.#untold, ...this.#lost])
    const users = new Map([...this.#online, ...stored, ...owed])
    const different = [...users].flatMap(([key, user]) => {
      const isKnown = stored.has(key) === this.#online.has(key) && !owed.has(key)
      return isKnown || this.#noted.has(key) ? [] : [user]
    })
    const { db, notify, notifyAll } = this.options
    const active = await db.use((db) => selectLastActive(db, different))
    const lost = new Map(this.#lost)
    for (const user of different) {
      this.#lost.delete(userKey(user))
      this.#untold.delete(userKey(user))
    }
    for (const { appId, userId, lastActiveAt } of active) {
      const key = userKey({ appId, userId })
      if (this.#noted.has(key)) continue
      const isOnline = stored.has(key)
      const change = { kind: 'presence' as const, appId, userId, isOnline, lastActiveAt }
      this.record(change)
      const tell = lost.has(key) ? notifyAll : notify
      tell(change)
    }
  }

  #select() {
    return this.options.db.use(selectOnline)
  }
}

const selectOnline = (db: Tx) => db<UserRef[]>`
  select distinct con.app_id, con.user_id
  from nodes n
  join connections con on con.node_id = n.id
  where n.beat_at > now() - ${limits.realtime.nodeDeadSeconds} * interval '1 second'`

const selectLastActive = (db: Tx, users: UserRef[]) => {
  const appIds = users.map(({ appId }) => appId)
  const userIds = users.map(({ userId }) => userId)
  return db<(UserRef & { lastActiveAt: string | null })[]>`
    select given.app_id, given.user_id, u.last_active_at
    from unnest(${appIds}::uuid[], ${userIds}::text[]) as given (app_id, user_id)
    join users u on u.app_id = given.app_id and u.id = given.user_id`
}
