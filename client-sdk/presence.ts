import type { ClientContext } from './context.ts'
import { createStore, type Store } from './store.ts'

/** Whether a user is online, and when he was last active, as far as that is known. */
export type Presence = { isOnline: boolean; lastActiveAt: string | null }
type Watched = {
  store: ReturnType<typeof createStore<Presence>>
  view: Store<Presence>
  news: number
}

/** Who is online, of those who are looked at. */
export class Presences {
  readonly #users = new Map<string, Watched>()
  #queue: Promise<unknown> = Promise.resolve()

  constructor(readonly context: () => ClientContext) {}

  of(userId: string): Store<Presence> {
    const known = this.#users.get(userId)
    if (known) return known.view
    const { report } = this.context()
    const store = createStore<Presence>(
      { isOnline: false, lastActiveAt: null },
      { report, onWatched: () => this.#load(userId) },
    )
    this.#users.set(userId, {
      store,
      view: { subscribe: store.subscribe, getSnapshot: store.getSnapshot },
      news: 0,
    })
    return this.of(userId)
  }

  hear(userId: string, presence: Presence) {
    const known = this.#users.get(userId)
    if (!known) return
    known.news += 1
    const { isOnline, lastActiveAt } = known.store.getSnapshot()
    if (isOnline !== presence.isOnline || lastActiveAt !== presence.lastActiveAt)
      known.store.set(presence)
  }

  /** Connected again: those looked at are asked for, one after another. */
  resume() {
    for (const [userId, { store }] of this.#users) if (store.isWatched) this.#load(userId)
  }

  #load(userId: string) {
    if (!this.context().session()) return
    this.#queue = this.#queue
      .then(async () => {
        const before = this.#users.get(userId)?.news
        const { online, lastActiveAt } = await this.context().api.users.get({ userId })
        // What was heard meanwhile is newer.
        if (this.#users.get(userId)?.news === before)
          this.hear(userId, { isOnline: online, lastActiveAt })
      })
      .catch(() => {})
  }
}
