/** Live state: a snapshot that never changes in place, and word of the next one. What is equal stays the same object. */
export interface Store<Snapshot> {
  /** The state now. The same object until something changes. */
  getSnapshot(): Snapshot
  /** Calls back after each change; returns the unsubscribe. */
  subscribe(listener: () => void): () => void
}

type StoreOptions = {
  /** Told of a listener that throws: the fault of one is none of the others'. */
  report: (error: unknown) => void
  /** Called when the first listener comes. */
  onWatched?: () => void
}

/** A store that can be set. */
export function createStore<Snapshot>(initial: Snapshot, { report, onWatched }: StoreOptions) {
  const listeners = new Set<() => void>()
  let snapshot = initial
  return {
    getSnapshot: () => snapshot,
    subscribe: (listener: () => void) => {
      const own = () => listener()
      listeners.add(own)
      if (listeners.size === 1) onWatched?.()
      return () => void listeners.delete(own)
    },
    set: (next: Snapshot) => {
      if (Object.is(next, snapshot)) return
      snapshot = next
      for (const listener of [...listeners]) {
        try {
          listener()
        } catch (error) {
          report(error)
        }
      }
    },
    get isWatched() {
      return listeners.size > 0
    },
  }
}

/** A part of a store, as a store of its own: heard of only when that part changes. */
export function select<Snapshot, Part>(
  store: Store<Snapshot>,
  selector: (snapshot: Snapshot) => Part,
  isEqual: (a: Part, b: Part) => boolean = Object.is,
): Store<Part> {
  let known: { part: Part } | undefined
  const getSnapshot = () => {
    const part = selector(store.getSnapshot())
    if (!known || !isEqual(known.part, part)) known = { part }
    return known.part
  }
  return {
    getSnapshot,
    subscribe: (listener) => {
      let last = getSnapshot()
      return store.subscribe(() => {
        const part = getSnapshot()
        if (Object.is(part, last)) return
        last = part
        listener()
      })
    },
  }
}
