import type { ClientContext } from './context.ts'
import { keepIfEqual } from './equality.ts'
import { createStore, type Store, type WritableStore } from './store.ts'

/** Whether a user is online, and when they were last active; null if that is not known. */
export type Presence = { isOnline: boolean; lastActiveAt: string | null }
type PresenceEntry = { store: WritableStore<Presence>; readable: Store<Presence>; updates: number }

/** The presence of the users that something watches. */
export class PresenceStores {
  readonly #users = new Map<string, PresenceEntry>()
  #queue: Promise<unknown> = Promise.resolve()

  constructor(readonly context: ClientContext) {}

  get(userId: string): Store<Presence> {
    const known = this.#users.get(userId)
    if (known) return known.readable
    const store = createStore<Presence>(
      { isOnline: false, lastActiveAt: null },
      { onError: this.context.onError, onWatched: () => this.#load(userId) },
    )
    const readable = { subscribe: store.subscribe, getSnapshot: store.getSnapshot }
    this.#users.set(userId, { store, readable, updates: 0 })
    return readable
  }

  update(userId: string, presence: Presence) {
    const known = this.#users.get(userId)
    if (!known) return
    known.updates += 1
    known.store.set(keepIfEqual(known.store.getSnapshot(), presence))
  }

  /** Connected again: loads the watched users one after another. */
  handleReconnect() {
    for (const [userId, { store }] of this.#users) {
      if (store.isWatched) this.#load(userId)
    }
  }

  #load(userId: string) {
    if (!this.context.session()) return
    this.#queue = this.#queue
      .then(async () => {
        const before = this.#users.get(userId)?.updates
        const { online, lastActiveAt } = await this.context.api.users.get({ userId })
        // An event that arrived meanwhile is newer than the response.
        if (this.#users.get(userId)?.updates === before)
          this.update(userId, { isOnline: online, lastActiveAt })
      })
      .catch(() => {})
  }
}
