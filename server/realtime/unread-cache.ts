import { type UserRef, userKey } from '../core/user-ref.ts'
import type { Sessions } from './sessions.ts'
import type { UnreadCount } from './unread-counts.ts'

/** A count of a user. `isSent`: the server has sent it. Otherwise the client may know it or not. */
export type KnownCount = { count: number; version: number; isSent: boolean }

/** The unread counts of a user, as far as they are loaded. */
export type UserCounts = {
  user: UserRef
  /** When all counts were loaded, or the user was first seen. */
  since: number
  /** Whether all counts were loaded. Before that, only counts that were sent are here. */
  isComplete: boolean
  counts: Map<string, KnownCount>
  /** The last total that was sent. */
  total?: number
}

/** The unread counts of the users connected to this node. */
export class UnreadCache {
  readonly #users = new Map<string, UserCounts>()

  constructor(readonly sessions: Sessions) {}

  get(user: UserRef): UserCounts | undefined {
    return this.#users.get(userKey(user))
  }

  getOrCreate(user: UserRef): UserCounts {
    const known = this.get(user)
    if (known) return known
    const created: UserCounts = {
      user,
      since: performance.now(),
      isComplete: false,
      counts: new Map(),
    }
    this.#users.set(userKey(user), created)
    return created
  }

  isComplete(user: UserRef) {
    return this.get(user)?.isComplete === true
  }

  /** The users with a known count in the channel. */
  usersOf(channelId: string): UserRef[] {
    const known = [...this.#users.values()].filter(({ counts }) => counts.has(channelId))
    return known.map(({ user }) => user)
  }

  /** Adds all counts of these users, and keeps those that were already sent. */
  complete(users: UserRef[], rows: UnreadCount[]) {
    const loaded = new Map(users.map((user) => [userKey(user), new Map<string, KnownCount>()]))
    for (const { channelId, count, version, ...user } of rows)
      loaded.get(userKey(user))?.set(channelId, { count, version, isSent: false })
    for (const user of users) {
      if (!this.sessions.has(user)) continue
      const known = this.getOrCreate(user)
      const sent = known.counts
      known.since = performance.now()
      known.isComplete = true
      known.counts = new Map()
      for (const [channelId, count] of loaded.get(userKey(user)) ?? []) {
        const last = sent.get(channelId)
        known.counts.set(channelId, last && last.version >= count.version ? last : count)
      }
    }
  }

  /** Records a count that the user was sent. Returns the one that is newer, if one is known. */
  record(
    known: UserCounts,
    { channelId, ...sent }: Omit<KnownCount, 'isSent'> & { channelId: string },
  ) {
    const last = known.counts.get(channelId)
    if (last && last.version > sent.version) return last
    known.counts.set(channelId, { ...sent, isSent: true })
    return undefined
  }

  /** From now on a client of the user may show other counts than those that were sent. */
  markAsUncertain(user: UserRef) {
    const known = this.get(user)
    if (!known) return
    known.since = performance.now()
    for (const count of known.counts.values()) count.isSent = false
  }

  /** A database that was restored has lower versions. */
  forgetVersions() {
    for (const { counts } of this.#users.values())
      for (const count of counts.values()) count.version = 0
  }

  forget(user: UserRef) {
    this.#users.delete(userKey(user))
  }
}

export function totalOf({ counts }: UserCounts) {
  let total = 0
  for (const { count } of counts.values()) total += count
  return total
}
