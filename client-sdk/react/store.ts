import { useRef, useSyncExternalStore } from 'react'
import type { Store } from '../index.ts'
import { isObject, isShallowEqual } from '../shared/equality.ts'

/**
 * A store's snapshot; rerenders when it changes. On a server it is the store's initial snapshot.
 */
export const useStore = <Snapshot>(store: Store<Snapshot>): Snapshot =>
  useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot)

/**
 * A part of a store's snapshot; rerenders only when that part changes. The selector may be another
 * function at each render, and may return a new object with the same values:
 * `useSelect(chat.unread, ({ byChannel }) => byChannel[id] ?? 0)`.
 */
export function useSelect<Snapshot, Selected>(
  store: Store<Snapshot>,
  selector: (snapshot: Snapshot) => Selected,
  isEqual: (a: Selected, b: Selected) => boolean = hasSameValues,
): Selected {
  const last = useRef<{ selected: Selected } | undefined>(undefined)
  const getSelected = () => {
    const selected = selector(store.getSnapshot())
    const known = last.current
    if (known && isEqual(known.selected, selected)) return known.selected
    last.current = { selected }
    return selected
  }
  return useSyncExternalStore(store.subscribe, getSelected, getSelected)
}

const hasSameValues = (a: unknown, b: unknown): boolean =>
  Object.is(a, b) || (isObject(a) && isObject(b) && isShallowEqual(a, b))
