import { createClockSteps } from '../../core/clock-steps.ts'
import { type UserRef, userKey } from '../../core/user-ref.ts'
import { type Db, isConnectionLost, type Tx } from '../../db/client.ts'
import type { PresenceNote } from '../broker/index.ts'
import { coalesce } from '../coalesce.ts'
import type { Sessions } from '../sessions.ts'
import {
  type ActiveUser,
  type PresenceChange,
  removeDeadNode,
  selectActive,
  selectConnections,
  selectDeadNodes,
  writeHeartbeat,
  writePresence,
} from './queries.ts'
import { createPresenceWrites } from './writes.ts'

type PresenceOptions = {
  db: Db
  nodeId: string
  sessions: Sessions
  /** How long a user without sockets still counts as online. */
  graceMs: number
  deadAfterMs: number
  beatPatienceMs: number
  onChange: (presence: PresenceNote) => void
  report: (error: unknown, problem: string) => void
}
type Present = {
  user: UserRef
  /** Resolves once the user's row is written. */
  written: Promise<unknown>
  leaving: NodeJS.Timeout | undefined
}

/**
 * Maintains who is online: the users with sockets on a live node, by the `connections` table. Each
 * node writes its own rows, and removes those of dead nodes.
 */
export class PresenceTracker {
  readonly #present = new Map<string, Present>()
  /** The writes that have been completed. */
  readonly #completed = new WeakSet<Promise<unknown>>()
  /** Users whose write or removal failed: it may or may not have been stored and announced. */
  readonly #uncertain = new Map<string, UserRef>()
  /** Users announced as offline by another node, whom a failure kept from being announced again. */
  readonly #unannounced = new Map<string, UserRef>()
  /** Whether rows were missing, and the comparison that restored them failed to announce it. */
  #wereRowsLost = false
  readonly #write: (change: PresenceChange) => Promise<unknown>
  readonly #announceAgain: (user: UserRef) => Promise<unknown>
  readonly #clock = createClockSteps()
  /** Whether the database's clock was set before the last heartbeat, and after the one before. */
  hasClockStepped = false

  constructor(readonly options: PresenceOptions) {
    this.#write = createPresenceWrites((...given) => this.#writeAll(...given), options.db)
    this.#announceAgain = coalesce((users) => this.#announceAll(users), { maxBatch: 1_000 })
  }

  /** The user's first socket here was opened. Resolves once the queries of all nodes see it. */
  userConnected(user: UserRef): Promise<unknown> {
    const known = this.#present.get(userKey(user))
    clearTimeout(known?.leaving)
    const written = known?.written ?? this.#write({ user, isOnline: true })
    this.#present.set(userKey(user), { user, written, leaving: undefined })
    const forget = () => {
      // Meanwhile they may have left and come back, with another write.
      if (this.#present.get(userKey(user))?.written === written) this.#present.delete(userKey(user))
    }
    written.then(() => this.#completed.add(written), forget)
    return written
  }

  /** The user's last socket here was closed. Others do not notice a return within the grace. */
  userDisconnected(user: UserRef) {
    const known = this.#present.get(userKey(user))
    if (!known) return
    clearTimeout(known.leaving)
    known.leaving = setTimeout(() => {
      if (this.options.sessions.has(user)) return
      this.#present.delete(userKey(user))
      this.#write({ user, isOnline: false }).catch((error) =>
        this.options.report(error, 'presence write failed'),
      )
    }, this.options.graceMs)
  }

  /**
   * Another node announced the user as offline. That may come late: they may have left there before
   * they connected here, and this node announced them as online in between.
   */
  handleOfflineElsewhere(user: UserRef) {
    const known = this.#present.get(userKey(user))
    if (!known || !this.#completed.has(known.written)) return
    this.#announceAgain(user).catch((error) => {
      this.#unannounced.set(userKey(user), user)
      this.options.report(error, 'presence re-announcement failed')
    })
  }

  /** Announces the users whose announcement failed before. */
  announceMissed() {
    const users = [...this.#unannounced.values()]
    this.#unannounced.clear()
    for (const user of users) this.handleOfflineElsewhere(user)
  }

  /**
   * Writes this node's heartbeat. Returns whether a crash of the database or a premature removal
   * took its rows: then they are to be compared.
   */
  async beat() {
    const { db, nodeId, beatPatienceMs } = this.options
    const from = performance.now()
    const write = (db: Tx) => writeHeartbeat(db, nodeId)
    const { at, hasUsers } = await db.useApart(write, from + beatPatienceMs)
    this.hasClockStepped = this.#clock.isStep(at, { from, to: performance.now() })
    const isAnyStored = [...this.#present.values()].some(({ written }) =>
      this.#completed.has(written),
    )
    return isAnyStored && !hasUsers
  }

  /**
   * Compares the rows of this node with its users. Restores those that are missing, and returns
   * whether there were any. Removes those of users whose departure could not be written.
   */
  async compareRows() {
    const { db, nodeId } = this.options
    const before = new Map(this.#present)
    const rows = await db.use((db) => selectConnections(db, nodeId))
    const stored = new Map(rows.map((user) => [userKey(user), user]))
    const lost = [...before].flatMap(([key, { user, written }]) =>
      this.#completed.has(written) && this.#present.has(key) && !stored.has(key) ? [user] : [],
    )
    // A user who left during the queries has a write of their own.
    const departed = [...new Map([...stored, ...this.#uncertain])].flatMap(([key, user]) =>
      before.has(key) || this.#present.has(key) ? [] : [user],
    )
    this.#wereRowsLost ||= lost.length > 0
    await Promise.all([
      ...lost.map((user) => this.#write({ user, isOnline: true })),
      ...departed.map((user) => this.#write({ user, isOnline: false })),
    ])
    const wereRowsLost = this.#wereRowsLost
    this.#wereRowsLost = false
    return wereRowsLost
  }

  /**
   * Removes nodes whose heartbeat is too old. Their users are offline, unless they are connected to
   * another node.
   */
  async removeDeadNodes() {
    const { db } = this.options
    const dead = await db.use((db) => selectDeadNodes(db, this.options))
    const failures: unknown[] = []
    for (const { id } of dead) {
      try {
        await this.#removeDeadNode(id)
      } catch (error) {
        // The others are tried all the same, unless the database is out of reach.
        if (isConnectionLost(error)) throw error
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }

  /**
   * Ages the heartbeat, so that another node removes the rows of this node after the grace, and
   * says that this node does not run any more.
   */
  async stop() {
    const { db, nodeId, graceMs, deadAfterMs } = this.options
    for (const { leaving } of this.#present.values()) clearTimeout(leaving)
    // Negative if the grace is longer than a node without a heartbeat counts as alive.
    const ageMs = deadAfterMs - graceMs
    await db.use(
      (db) => db`
        update nodes
        set beat_at = now() - ${ageMs} * interval '1 millisecond', stopped_at = now()
        where id = ${nodeId}`,
    )
  }

  async #removeDeadNode(id: string) {
    const { db, deadAfterMs } = this.options
    const users = await db.use((db) => selectConnections(db, id))
    try {
      for (let isMore = true; isMore; ) {
        const removed = await db.use((db) => removeDeadNode(db, { id, deadAfterMs }))
        this.#publish(false, removed.offline)
        isMore = removed.isMore
      }
    } catch (error) {
      // Even so the node may have been removed, and then no other node finds its users.
      for (const user of users) this.#uncertain.set(userKey(user), user)
      throw error
    }
  }

  /** Users whose row was lost are announced when it is restored. */
  async #announceAll(users: UserRef[]) {
    const { db, nodeId } = this.options
    const stored = await db.use((db) => selectActive(db, { nodeId, users }))
    this.#publish(
      true,
      stored.filter((user) => this.#present.has(userKey(user))),
    )
    return users
  }

  /** Returns the changes of users whose row others have locked, unless it `waitsForLocks`. */
  async #writeAll(changes: PresenceChange[], { waitsForLocks }: { waitsForLocks: boolean }) {
    // The last of several changes of a user counts.
    const last = new Map(changes.map((change) => [userKey(change.user), change]))
    const { changed, written } = await this.#writeOrRemember(last, waitsForLocks)
    for (const isOnline of [true, false]) {
      const users = changed.filter((user) => user.isOnline === isOnline)
      this.#publish(isOnline, users)
    }
    return changes.filter(({ user }) => !written.has(userKey(user)))
  }

  async #writeOrRemember(last: Map<string, PresenceChange>, waitsForLocks: boolean) {
    const changes = [...last].map(([key, change]) => ({
      ...change,
      isUncertain: this.#uncertain.has(key),
    }))
    try {
      const done = await this.options.db.use((db) =>
        writePresence(db, { ...this.options, changes, waitsForLocks }),
      )
      for (const key of done.written) this.#uncertain.delete(key)
      return done
    } catch (error) {
      for (const [key, { user }] of last) this.#uncertain.set(key, user)
      throw error
    }
  }

  #publish(isOnline: boolean, users: ActiveUser[]) {
    for (const { appId, userId, lastActiveAt, version } of users) {
      this.options.onChange({ kind: 'presence', appId, userId, isOnline, lastActiveAt, version })
    }
  }
}
