import { type UserRef, userKey } from '../core/user-ref.ts'
import type { Sessions } from './sessions.ts'
import type { UnreadCount } from './unread-counts.ts'

/** The unread counts of a user, as far as they are loaded. */
export type UserCounts = {
  user: UserRef
  /** When all counts were loaded, or the user was first seen. */
  since: number
  /** Whether all counts were loaded. Before that, only counts that were sent are here. */
  isComplete: boolean
  /** `isSent`: the server has sent this count. Otherwise the client may know it or not. */
  counts: Map<string, { count: number; isSent: boolean }>
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
    const loaded = new Map(users.map((user) => [userKey(user), new Map<string, number>()]))
    for (const { channelId, count, ...user } of rows)
      loaded.get(userKey(user))?.set(channelId, count)
    for (const user of users) {
      if (!this.sessions.has(user)) continue
      const known = this.getOrCreate(user)
      const sent = known.counts
      known.since = performance.now()
      known.isComplete = true
      known.counts = new Map()
      for (const [channelId, count] of loaded.get(userKey(user)) ?? []) {
        known.counts.set(channelId, sent.get(channelId) ?? { count, isSent: false })
      }
    }
  }

  /** From now on a client of the user may show other counts than those that were sent. */
  markAsUncertain(user: UserRef) {
    const known = this.get(user)
    if (!known) return
    known.since = performance.now()
    for (const count of known.counts.values()) count.isSent = false
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
