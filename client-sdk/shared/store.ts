import { keepIfEqual } from './equality.ts'

/** Live state: an immutable snapshot, and a way to subscribe to the next ones. */
export interface Store<Snapshot> {
  /** The state now. The same object until something changes. */
  getSnapshot(): Snapshot
  /** Calls the listener after each change; returns the unsubscribe. */
  subscribe(listener: () => void): () => void
}

export type WritableStore<Snapshot> = ReturnType<typeof createStore<Snapshot>>

type StoreOptions = {
  /** Called when a listener throws; the other listeners are still called. */
  onError: (error: unknown) => void
  /** Called when the first listener subscribes. */
  onWatched?: () => void
  /** Called when the last one has unsubscribed. */
  onUnwatched?: () => void
}

/** Calls a listener; what it throws is reported, and keeps nothing from the others. */
export function notify(listener: () => void, onError: (error: unknown) => void) {
  try {
    listener()
  } catch (error) {
    onError(error)
  }
}

/** A store that can be set. */
export function createStore<Snapshot>(
  initial: Snapshot,
  { onError, onWatched, onUnwatched }: StoreOptions,
) {
  const listeners = new Set<() => void>()
  let snapshot = initial
  return {
    getSnapshot: () => snapshot,
    subscribe: (listener: () => void) => {
      // Not before the caller has its unsubscribe.
      let isSubscribed = false
      const own = () => {
        if (isSubscribed) listener()
      }
      listeners.add(own)
      if (listeners.size === 1) onWatched?.()
      isSubscribed = true
      return () => {
        isSubscribed = false
        if (listeners.delete(own) && listeners.size === 0) onUnwatched?.()
      }
    },
    set: (next: Snapshot) => {
      if (Object.is(next, snapshot)) return
      snapshot = next
      for (const listener of [...listeners]) notify(listener, onError)
    },
    get isWatched() {
      return listeners.size > 0
    },
  }
}

/** Sets a store, unless that would change nothing. */
export const setIfChanged = <Snapshot extends object>(
  store: WritableStore<Snapshot>,
  next: Snapshot,
) => store.set(keepIfEqual(store.getSnapshot(), next))

/** A store of a selected part of another store; it notifies only when that part changes. */
export function select<Snapshot, Selected>(
  store: Store<Snapshot>,
  selector: (snapshot: Snapshot) => Selected,
  isEqual: (a: Selected, b: Selected) => boolean = Object.is,
): Store<Selected> {
  let cached: { selected: Selected } | undefined
  const getSnapshot = () => {
    const selected = selector(store.getSnapshot())
    if (!cached || !isEqual(cached.selected, selected)) cached = { selected }
    return cached.selected
  }
  return {
    getSnapshot,
    subscribe: (listener) => {
      let last = getSnapshot()
      return store.subscribe(() => {
        const selected = getSnapshot()
        if (Object.is(selected, last)) return
        last = selected
        listener()
      })
    },
  }
}
