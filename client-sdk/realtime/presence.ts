import { type ChatError, toChatError } from '../calls/error.ts'
import { createRetries } from '../calls/retry.ts'
import type { ClientContext } from '../context.ts'
import { USERS_PER_CALL } from '../generated/limits.ts'
import type { ChannelChanges, User, UserEvents } from '../generated/types.ts'
import { createStore, type Store, setIfChanged, type WritableStore } from '../shared/store.ts'

/** Whether a user is online, and when they were last active; null if that is not known. */
export type Presence = {
  /** Whether they are connected. */
  isOnline: boolean
  /** When they were last active, to the minute, in ISO 8601; null if that is not known. */
  lastActiveAt: string | null
}
type PresenceEntry = {
  store: WritableStore<Presence>
  /** The version of what is shown. Without one, as from earlier servers, what comes is newer. */
  version: number
  /** Until when (`performance.now()`) new watchers are shown what has come, asked for or not. */
  freshUntil: number
}
/** A user or a member. */
type Seen = Pick<User, 'online' | 'presenceVersion' | 'lastActiveAt'> & {
  id?: string
  userId?: string
}
/** The payload of a presence event. */
type PresencePayload = UserEvents['presence.online']
type WithUsers = { users?: User[] | undefined; channels: Record<string, ChannelChanges> }

/** How long a call for users waits for another one that can ask for them. */
const SHARE_MS = 250
/** How long it waits at most while such a call is about to be made, or answered. */
const LONGEST_SHARE_MS = 5_000
/** How long what has come is shown to new watchers without asking again. */
const FRESH_MS = 1_000

/** The presence of the users that something watches. */
export class PresenceStores {
  readonly #users = new Map<string, PresenceEntry>()
  /** Users to ask for in the next request, with those whose last request failed. */
  readonly #wanted = new Set<string>()
  /** Since when (`performance.now()`) somebody has been wanted. */
  #wantedSince = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  readonly #retries = createRetries(() => this.#loadWanted())

  constructor(readonly context: ClientContext) {}

  get(userId: string): Store<Presence> {
    return this.#entry(userId).store
  }

  #entry(userId: string): PresenceEntry {
    const known = this.#users.get(userId)
    if (known) return known
    const onWatched = () => {
      const isFresh = performance.now() < entry.freshUntil
      if (!isFresh && this.context.userSession()) this.#want(userId)
    }
    const initial: Presence = { isOnline: false, lastActiveAt: null }
    const store = createStore(initial, { ...this.context, onWatched })
    const entry = { store, version: Number.NaN, freshUntil: 0 }
    this.#users.set(userId, entry)
    return entry
  }

  update({ userId, lastActiveAt, version = Number.NaN }: PresencePayload, isOnline: boolean) {
    // Also of users whom nobody watches yet: an answer under way may be older.
    const known = this.#entry(userId)
    if (version < known.version) return
    known.version = version
    setIfChanged(known.store, { isOnline, lastActiveAt })
  }

  /** Loads the watched users, after connecting again. */
  handleReconnect() {
    for (const [userId, entry] of this.#users) {
      // After a backup was restored, versions may be lower than before.
      entry.version = Number.NaN
      entry.freshUntil = 0
      this.#want(userId)
    }
  }

  /** Asks for nobody until the next connection. */
  handleDisconnect() {
    this.#wanted.clear()
    this.#retries.end()
  }

  /**
   * Lets a call that is made now ask for the users, too. Takes the presence of members from it as
   * well.
   */
  share<Answer extends WithUsers>(call: (ids: string[]) => Promise<Answer>): Promise<Answer> {
    const ids = this.#takeWanted()
    const answer = call(ids)
    void this.#fetch(ids, async () => {
      const { users = await this.#loadAlone(ids), channels } = await answer
      return [...users, ...Object.values(channels).flatMap(({ members = [] }) => members)]
    })
    return answer
  }

  #want(userId: string) {
    if (this.#wanted.size === 0) this.#wantedSince = performance.now()
    this.#wanted.add(userId)
    this.#loadSoon()
  }

  /**
   * Users who are asked for soon after one another share a request: that of the rooms, if one is
   * coming, which brings their members, too.
   */
  #loadSoon() {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      const hasTime = performance.now() - this.#wantedSince < LONGEST_SHARE_MS
      if (hasTime && this.context.catchUp.isExpected) this.#loadSoon()
      else this.#loadWanted()
    }, SHARE_MS)
  }

  /** Those that there is room for in a call; the others are wanted still. */
  #takeWanted() {
    const userIds = [...this.#wanted].filter((id) => this.#entry(id).store.isWatched)
    this.#wanted.clear()
    for (const id of userIds.splice(USERS_PER_CALL)) this.#wanted.add(id)
    return userIds
  }

  #loadWanted() {
    do {
      const ids = this.#takeWanted()
      if (ids.length > 0) void this.#fetch(ids, () => this.#loadAlone(ids))
    } while (this.#wanted.size > 0)
  }

  /** Loads users by a call of their own. */
  async #loadAlone(ids: string[]): Promise<User[]> {
    const { loadUsers } = await import('../room/own-calls.ts')
    return loadUsers(this.context.api, ids)
  }

  async #fetch(ids: string[], load: () => Promise<Seen[]>) {
    const users = await load().catch((error) => this.#retryLater(ids, toChatError(error)))
    if (users && this.#wanted.size === 0) this.#retries.end()
    for (const user of users ?? []) {
      const { id = '', userId = id, online, presenceVersion: version, lastActiveAt } = user
      const entry = this.#entry(userId)
      entry.freshUntil = performance.now() + FRESH_MS
      this.#wanted.delete(userId)
      this.update({ userId, lastActiveAt, version }, online)
    }
  }

  #retryLater(ids: string[], error: ChatError) {
    if (!error.retryable || !this.context.link.isConnected) return
    for (const id of ids) this.#wanted.add(id)
    this.#retries.later(error)
  }
}
