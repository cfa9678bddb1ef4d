import { limits, type User } from '@parley/contract'
import { type UserRef, userKey } from '../../core/user-ref.ts'
import type { Db, Tx } from '../../db/client.ts'
import { FIRST_ID } from '../../db/sql.ts'
import { presenceFields } from '../../features/users/view.ts'
import type { PresenceNote } from '../broker/index.ts'
import { inChunks } from '../chunks.ts'

type KnownPresenceOptions = {
  db: Db
  nodeId: string
  /** Sends the change to the users of this node. */
  notify: (change: PresenceNote) => void
  /** For how many users it is remembered that another node sends their last change. */
  mostSent?: number
}

/** How many users a statement reads at most. */
const PAGE = 10_000
/**
 * For how many users it is remembered that another node sends their last change, and for how long:
 * longer than a node may be silent before the others notice. Each takes about 160 bytes. Beyond
 * them, at 1,600 changes a second, each node sends the change to its users once more.
 */
const MOST_SENT = 200_000
const SENT_MS = 120_000
/** Overlap: a node announces a change some time before it sends it. */
const OVERLAP_MS = 30_000

/**
 * Which users this node last reported as online; compared with the database to find missed changes.
 */
export class KnownPresence {
  #online = new Map<string, UserRef>()
  /** Users whose note arrived during a comparison. It may be newer than what that reads. */
  readonly #noted = new Set<string>()
  #isComparing = false
  /** Users whose last change could not be sent. */
  readonly #lost = new Map<string, UserRef>()
  /** Users whose last change may not have reached other users, with its time, the latest last. */
  readonly #unsure = new Map<string, { user: UserRef; at: number }>()
  /** Users whose last change another node sends, unless its notes are lost; the latest last. */
  readonly #sentByOthers = new Map<string, { user: UserRef; at: number; announcer: string }>()
  /**
   * When the last of those was announced. After it nothing was, so in a gap the earlier ones are
   * kept.
   */
  #announcedAt = 0

  constructor(readonly options: KnownPresenceOptions) {}

  /** The change is being sent to the users of this node, by it or by its announcer. */
  record(change: PresenceNote) {
    const key = userKey(change)
    const user = { appId: change.appId, userId: change.userId }
    if (change.isOnline) this.#online.set(key, user)
    else this.#online.delete(key)
    this.#note(key)
    this.#lost.delete(key)
    this.#unsure.delete(key)
    this.#unsure.set(key, { user, at: performance.now() })
    this.#sentByOthers.delete(key)
    const announcer = change.announcer?.id
    if (announcer === undefined || announcer === this.options.nodeId) return
    this.#forgetSent()
    this.#announcedAt = performance.now()
    this.#sentByOthers.set(key, { user, at: this.#announcedAt, announcer })
  }

  /**
   * Makes room for one more. The next comparison sends the changes of users who are dropped too
   * early.
   */
  #forgetSent() {
    const { mostSent = MOST_SENT } = this.options
    for (const [key, { user, at }] of this.#sentByOthers) {
      const isOver = at < this.#announcedAt - SENT_MS
      if (!isOver && this.#sentByOthers.size < mostSent) return
      this.#sentByOthers.delete(key)
      if (!isOver) this.#lost.set(key, user)
    }
  }

  /** Another node has sent a change to users of this one, whether or not it was announced. */
  recordSent({ appId, userId }: UserRef, isOnline: boolean) {
    const key = userKey({ appId, userId })
    if (isOnline) this.#online.set(key, { appId, userId })
    else this.#online.delete(key)
    this.#note(key)
  }

  #note(key: string) {
    if (this.#isComparing) this.#noted.add(key)
  }

  /**
   * Rows of this node, which say to whom changes are sent, were missing: the next comparison sends
   * the changes of that time again.
   */
  handleLostRows() {
    for (const [key, { user }] of this.#unsure) this.#lost.set(key, user)
  }

  /**
   * Notes of the last milliseconds, from all other nodes or the given one, may have been missed:
   * the next comparison sends their changes to the users of this node again.
   */
  handleMissedNotes(milliseconds: number, nodeId?: string) {
    const since = performance.now() - milliseconds - OVERLAP_MS
    for (const [key, { user, at, announcer }] of this.#sentByOthers)
      if (at >= since && announcer === (nodeId ?? announcer)) this.#lost.set(key, user)
  }

  /** Notes that no row of this node was missing until that time, by `performance.now()`. */
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
    for (const [key, user] of await this.#select()) this.#online.set(key, user)
  }

  /** Sends the users of this node the presence that differs from what they were last sent. */
  async compare() {
    this.#isComparing = true
    try {
      await this.#sendDifferent()
    } finally {
      this.#isComparing = false
      this.#noted.clear()
    }
  }

  async #sendDifferent() {
    const stored = await this.#select()
    const users = new Map([...this.#online, ...stored, ...this.#lost])
    const different = [...users].flatMap(([key, user]) => {
      const isKnown = stored.has(key) === this.#online.has(key) && !this.#lost.has(key)
      return isKnown || this.#noted.has(key) ? [] : [user]
    })
    for (const some of inChunks(different, PAGE)) await this.#send(some)
  }

  async #send(users: UserRef[]) {
    const { db, notify } = this.options
    const active = await db.use((db) => selectPresence(db, users))
    for (const key of users.map(userKey)) {
      // Changes that were noted meanwhile may have been lost as well.
      if (!this.#noted.has(key)) this.#lost.delete(key)
    }
    for (const { appId, userId, online, presenceVersion, lastActiveAt } of active) {
      if (this.#noted.has(userKey({ appId, userId }))) continue
      const change = { appId, userId, isOnline: online, lastActiveAt, version: presenceVersion }
      this.record({ kind: 'presence', ...change })
      notify({ kind: 'presence', ...change })
    }
  }

  /** The users who are online, by their keys. */
  async #select() {
    const users = new Map<string, UserRef>()
    let after: ConnectedUser | undefined = FIRST
    while (after) {
      const from: ConnectedUser = after
      const page = await this.options.db.use((db) => selectOnline(db, from))
      for (const { appId, userId } of page) users.set(userKey({ appId, userId }), { appId, userId })
      after = page.length < PAGE ? undefined : page.at(-1)
    }
    return users
  }
}

type ConnectedUser = UserRef & { nodeId: string }
const FIRST = { nodeId: '', appId: FIRST_ID, userId: '' }

/** The next connections in the order of their keys. Those of dead nodes do not count. */
const selectOnline = (db: Tx, after: ConnectedUser) => db<ConnectedUser[]>`
  select con.node_id, con.app_id, con.user_id
  from connections con
  where (con.node_id, con.app_id, con.user_id)
      > (${after.nodeId}, ${after.appId}, ${after.userId})
    and (
      select n.beat_at > now() - ${limits.realtime.nodeDeadSeconds} * interval '1 second'
      from nodes n
      where n.id = con.node_id
    )
  order by con.node_id, con.app_id, con.user_id
  limit ${PAGE}`

type Presence = UserRef & Pick<User, 'online' | 'lastActiveAt' | 'presenceVersion'>

const selectPresence = (db: Tx, users: UserRef[]) => {
  const appIds = users.map(({ appId }) => appId)
  const userIds = users.map(({ userId }) => userId)
  return db<Presence[]>`
    select u.app_id, u.id as user_id, ${presenceFields(db)}
    from unnest(${appIds}::uuid[], ${userIds}::text[]) as given (app_id, user_id)
    join users u on u.app_id = given.app_id and u.id = given.user_id`
}
