import { limits } from '@parley/contract'
import { type UserRef, userKey } from '../core/user-ref.ts'
import type { Db, Tx } from '../db/client.ts'
import type { PresenceNote } from './broker.ts'

type KnownPresenceOptions = {
  db: Db
  /** Sends the change to the users of this node. */
  notify: (change: PresenceNote) => void
}

/**
 * Which users this node last reported as online; compared with the database to find missed changes.
 */
export class KnownPresence {
  #online = new Map<string, UserRef>()
  /** Users whose note arrived during a comparison, and may be newer than it. */
  readonly #noted = new Set<string>()
  /** Users whose last change could not be sent. */
  readonly #lost = new Map<string, UserRef>()
  /** Users whose last change may have been sent to nobody, by its time, the latest last. */
  readonly #unsure = new Map<string, { user: UserRef; at: number }>()

  constructor(readonly options: KnownPresenceOptions) {}

  /** The change was sent to the users of this node. */
  record(change: PresenceNote) {
    const key = userKey(change)
    const user = { appId: change.appId, userId: change.userId }
    if (change.isOnline) this.#online.set(key, user)
    else this.#online.delete(key)
    this.#noted.add(key)
    this.#lost.delete(key)
    this.#unsure.delete(key)
    this.#unsure.set(key, { user, at: performance.now() })
  }

  /**
   * Rows of this node were missing, by which it finds whom to send a change to: the next comparison
   * sends those that were recorded meanwhile once more.
   */
  handleLostRows() {
    for (const [key, { user }] of this.#unsure) this.#lost.set(key, user)
  }

  /** No row of this node was missing until that time, by `performance.now()`. */
  rowsWereThere(until: number) {
    for (const [key, { at }] of this.#unsure) {
      if (at > until) return
      this.#unsure.delete(key)
    }
  }

  /** The change could not be sent to the users of this node: the next comparison sends it. */
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
    const users = new Map([...this.#online, ...stored, ...this.#lost])
    const different = [...users].flatMap(([key, user]) => {
      const isKnown = stored.has(key) === this.#online.has(key) && !this.#lost.has(key)
      return isKnown || this.#noted.has(key) ? [] : [user]
    })
    const { db, notify } = this.options
    const active = await db.use((db) => selectLastActive(db, different))
    for (const key of different.map(userKey)) {
      // What was noted meanwhile may have been lost as well.
      if (!this.#noted.has(key)) this.#lost.delete(key)
    }
    for (const { appId, userId, lastActiveAt } of active) {
      const key = userKey({ appId, userId })
      if (this.#noted.has(key)) continue
      const change = { appId, userId, isOnline: stored.has(key), lastActiveAt }
      this.record({ kind: 'presence', ...change })
      notify({ kind: 'presence', ...change })
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
