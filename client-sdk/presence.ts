import type { Engine } from './engine.ts'
import { createStore, type Store } from './store.ts'

export type Presence = { isOnline: boolean; lastActiveAt: string | null }
type Watched = { store: ReturnType<typeof createStore<Presence>>; view: Store<Presence> }

/** Who is online, of those who are looked at. */
export class Presences {
  readonly #users = new Map<string, Watched>()
  #queue: Promise<unknown> = Promise.resolve()

  constructor(readonly engine: () => Engine) {}

  of(userId: string): Store<Presence> {
    const known = this.#users.get(userId)
    if (known) return known.view
    const store = createStore<Presence>({ isOnline: false, lastActiveAt: null }, () => this.#load(userId))
    this.#users.set(userId, { store, view: { subscribe: store.subscribe, getSnapshot: store.getSnapshot } })
    return this.of(userId)
  }

  hear(userId: string, presence: Presence) {
    this.#users.get(userId)?.store.set(presence)
  }

  /** Connected again: those looked at are asked for, one after another. */
  resume() {
    for (const [userId, { store }] of this.#users) if (store.isWatched) this.#load(userId)
  }

  #load(userId: string) {
    if (!this.engine().session()) return
    this.#queue = this.#queue
      .then(async () => {
        const before = this.#users.get(userId)?.store.getSnapshot()
        const { online, lastActiveAt } = await this.engine().api.users.get({ userId })
        // What was heard meanwhile is newer.
        if (this.#users.get(userId)?.store.getSnapshot() === before) this.hear(userId, { isOnline: online, lastActiveAt })
      })
      .catch(() => {})
  }
}
