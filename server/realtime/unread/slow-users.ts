import { type UserRef, userKey } from '../../core/user-ref.ts'
import type { Sessions } from '../sessions.ts'
import { SlowReads } from './slow-reads.ts'

/** How long users are skipped whose own counts take too long. */
const LEFT_OUT_MS = 8_000

/** `readSince`: since when their reads may have been missed, by `performance.now()`. */
export type UsersToLoad = { users: UserRef[]; readSince?: number | undefined }

type SlowUser = {
  user: UserRef
  readSince: UsersToLoad['readSince']
  /** Whether the load that is under way, if any, may be too old. */
  isMarked: boolean
  /** Whether they are to be sent their total even if they know it. */
  isOwedTotal: boolean
}

type SlowUsersOptions = {
  pauseMs: number
  sessions: Sessions
  /** Loads these users by one statement, and sends them what they may not know or are owed. */
  load: (loaded: UsersToLoad, withinMs?: number) => Promise<void>
  report: (error: unknown, problem: string) => void
}

/** Loads the counts of users whose statement took too long, apart from all other work. */
export class SlowUsers {
  readonly #users = new Map<string, SlowUser>()
  readonly #reads: SlowReads

  constructor(readonly options: SlowUsersOptions) {
    this.#reads = new SlowReads({
      ...options,
      leftOutMs: LEFT_OUT_MS,
      due: () => this.#present(),
      read: (keys, withinMs) => this.#load(keys, withinMs),
      onLeftOut: (_, error) => options.report(error, 'unread counts of a user took too long'),
    })
  }

  has(user: UserRef) {
    return this.#users.has(userKey(user))
  }

  /** Marks the slow ones among these users to be loaded, again if they are being loaded now. */
  mark({ users, readSince }: UsersToLoad) {
    for (const user of users) {
      const slow = this.#users.get(userKey(user))
      if (!slow) continue
      slow.isMarked = true
      slow.readSince = earlier(readSince, slow.readSince)
    }
  }

  /** A user who is slow is owed their total, once it is loaded. */
  oweTotal(user: UserRef) {
    const slow = this.#users.get(userKey(user))
    if (slow) slow.isOwedTotal = true
  }

  /** Whether a user is owed their total. It is sent now. */
  takeOwed(user: UserRef) {
    const slow = this.#users.get(userKey(user))
    const isOwed = slow?.isOwedTotal === true
    if (slow) slow.isOwedTotal = false
    return isOwed
  }

  /** Takes over the users of a statement that took too long. */
  add({ users, readSince }: UsersToLoad) {
    for (const user of users) {
      const slow = { user, readSince, isMarked: true, isOwedTotal: false }
      this.#users.set(userKey(user), slow)
    }
    this.#reads.add(users.map(userKey))
  }

  stop() {
    return this.#reads.stop()
  }

  async #load(keys: string[], withinMs: number | undefined) {
    const slow = keys.flatMap((key) => this.#users.get(key) ?? [])
    for (const each of slow) each.isMarked = false
    const users = slow.map(({ user }) => user)
    const readSince = slow.map((each) => each.readSince).reduce(earlier, undefined)
    await this.options.load({ users, readSince }, withinMs)
    for (const { user, isMarked } of slow) {
      if (!isMarked) this.#users.delete(userKey(user))
    }
  }

  /** The keys of those who are still there. */
  #present() {
    for (const [key, { user }] of this.#users)
      if (!this.options.sessions.has(user)) this.#users.delete(key)
    return [...this.#users.keys()]
  }
}

const earlier = (one: number | undefined, other: number | undefined) =>
  one === undefined ? other : Math.min(one, other ?? one)
