import { createStore, type Store } from '../shared/store.ts'

const failure = (cause: unknown) => console.error(cause)
export const constantly = <Snapshot>(snapshot: Snapshot) =>
  createStore(snapshot, { onError: failure })

/** A store computed from another; the same object until that changes. */
export function derived<From, To>(from: Store<From>, compute: (value: From) => To): Store<To> {
  let last: { from: From; to: To } | undefined
  return {
    subscribe: from.subscribe,
    getSnapshot: () => {
      const value = from.getSnapshot()
      if (!last || last.from !== value) last = { from: value, to: compute(value) }
      return last.to
    },
  }
}
