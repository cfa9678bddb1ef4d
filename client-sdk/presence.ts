import type { ClientContext } from './context.ts'
import { keepIfEqual } from './equality.ts'
import { type ChatError, toChatError } from './error.ts'
import { createRetries } from './retry.ts'
import { createStore, type Store, type WritableStore } from './store.ts'
import type { User } from './types.ts'

/** Whether a user is online, and when they were last active; null if that is not known. */
export type Presence = {
  /** Whether they are connected. */
  isOnline: boolean
  /** When they were last active, to the minute, in ISO 8601; null if that is not known. */
  lastActiveAt: string | null
}
type PresenceEntry = { store: WritableStore<Presence>; updates: number }

/** How many users one request asks for. */
const USERS_PER_CALL = 100

/** The presence of the users that something watches. */
export class PresenceStores {
  readonly #users = new Map<string, PresenceEntry>()
  /** Users to ask for in the next request, with those whose last request failed. */
  readonly #wanted = new Set<string>()
  readonly #retries = createRetries(() => this.#loadWanted())

  constructor(readonly context: ClientContext) {}

  get(userId: string): Store<Presence> {
    const known = this.#users.get(userId)
    if (known) return known.store
    const store = createStore<Presence>(
      { isOnline: false, lastActiveAt: null },
      { onError: this.context.onError, onWatched: () => this.#load(userId) },
    )
    this.#users.set(userId, { store, updates: 0 })
    return store
  }

  update(userId: string, presence: Presence) {
    const known = this.#users.get(userId)
    if (!known) return
    known.updates += 1
    known.store.set(keepIfEqual(known.store.getSnapshot(), presence))
  }

  /** Loads the watched users, after connecting again. */
  handleReconnect() {
    for (const userId of this.#users.keys()) this.#load(userId)
  }

  /** Asks for nobody until the next connection. */
  handleDisconnect() {
    this.#wanted.clear()
    this.#retries.end()
  }

  /** Lets a call that is made now ask for the users, too: those that there is room for. */
  share<Answer extends { users?: User[] | undefined }>(
    call: (ids: string[] | undefined) => Promise<Answer>,
  ): Promise<Answer> {
    const ids = this.#takeWanted()
    for (const id of ids.splice(USERS_PER_CALL)) this.#wanted.add(id)
    if (ids.length === 0) return call(undefined)
    const answer = call(ids)
    void this.#fetch(ids, async () => (await answer).users ?? this.#loadAlone(ids))
    return answer
  }

  /** Users who are asked for in the same tick share a request. */
  #load(userId: string) {
    if (!this.context.userSession()) return
    if (!this.#wanted.has(userId)) queueMicrotask(() => this.#loadWanted())
    this.#wanted.add(userId)
  }

  #takeWanted() {
    const userIds = [...this.#wanted].filter((id) => this.#users.get(id)?.store.isWatched)
    this.#wanted.clear()
    return userIds
  }

  #loadWanted() {
    this.#loadAlone(this.#takeWanted())
  }

  /** Loads users by calls of their own, which take them when they are answered. */
  #loadAlone(userIds: string[]): User[] {
    const { users } = this.context.api
    // A query joins ids by commas: one that contains a comma goes into a path.
    const joinable = userIds.filter((id) => !id.includes(','))
    for (let start = 0; start < joinable.length; start += USERS_PER_CALL) {
      const ids = joinable.slice(start, start + USERS_PER_CALL)
      void this.#fetch(ids, () => this.#listAll(ids))
    }
    for (const userId of userIds.filter((id) => id.includes(',')))
      void this.#fetch([userId], async () => [await users.get({ userId })])
    return []
  }

  /** The users with these ids, in pages: long names and images leave room for fewer. */
  async #listAll(ids: string[], cursor?: string): Promise<User[]> {
    const { users, nextCursor } = await this.context.api.users.list({ ids, cursor })
    return nextCursor ? [...users, ...(await this.#listAll(ids, nextCursor))] : users
  }

  async #fetch(ids: string[], load: () => Promise<User[]>) {
    const updates = new Map(ids.map((id) => [id, this.#users.get(id)?.updates]))
    const users = await load().catch((error) => this.#retryLater(ids, toChatError(error)))
    if (users && this.#wanted.size === 0) this.#retries.end()
    for (const { id, online, lastActiveAt } of users ?? []) {
      // An event that arrived meanwhile is newer than the response.
      if (this.#users.get(id)?.updates === updates.get(id))
        this.update(id, { isOnline: online, lastActiveAt })
    }
  }

  #retryLater(ids: string[], error: ChatError) {
    if (!error.retryable || !this.context.link.isConnected) return
    for (const id of ids) this.#wanted.add(id)
    this.#retries.later(error)
  }
}
