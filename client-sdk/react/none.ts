import type {
  ListSnapshot,
  MessagesSnapshot,
  Presence,
  ReadsSnapshot,
  RoomInfo,
  Store,
  ThreadSnapshot,
} from '../index.ts'

// Snapshots that hooks return while nothing is chosen.

const constant = <Snapshot>(snapshot: Snapshot): Store<Snapshot> => ({
  getSnapshot: () => snapshot,
  subscribe: () => () => {},
})
const nothing = { items: [], status: 'idle' } as const

export const NO_LIST = constant<ListSnapshot<never>>(nothing)
export const NO_MESSAGES = constant<MessagesSnapshot>({
  ...nothing,
  hasOlder: false,
  hasNewer: false,
})
export const NO_THREAD = constant<ThreadSnapshot>({
  ...NO_MESSAGES.getSnapshot(),
  parent: undefined,
})
export const NO_READS = constant<ReadsSnapshot>({ byUser: {}, status: 'idle' })
export const NO_RECORD = constant<RoomInfo>({ channel: undefined, status: 'idle' })
export const NO_PRESENCE = constant<Presence>({ isOnline: false, lastActiveAt: null })
