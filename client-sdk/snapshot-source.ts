import type { ListedChannel } from './channels/reducer.ts'
import type { ChatMessage } from './room/state.ts'

// What the client and its snapshot store say to each other. The store has an entry of its own, so
// that only those who use it load its code.

/** The newest messages of a room, without a gap, as they were at a rev. */
export type RoomSnapshot = {
  epoch: string
  rev: number
  /** The seq from which on every message is included; 0 if there are no older ones. */
  from: number
  messages: ChatMessage[]
}
/** The channels that were listed first, and the total of unread messages. */
export type ListSnapshotData = { epoch: string; listed: ListedChannel[]; totalUnread: number }

/** What is shown now; undefined where that is not up to date. */
export type SnapshotSource = {
  list: () => ListSnapshotData | undefined
  room: (channelId: string) => RoomSnapshot | undefined
}
export type LoadedSnapshots = {
  list: ListSnapshotData | undefined
  rooms: Map<string, RoomSnapshot>
}

/** Stores what was shown last, for starts without a network: see `@parley/client/snapshots`. */
export type Snapshots = {
  /** What was stored of a user of a server; what cannot be used is removed. */
  load: (owner: string) => Promise<LoadedSnapshots>
  /** From now on stores what has changed, now and then. */
  start: (owner: string, source: SnapshotSource) => SnapshotWriter
  /** Removes everything of a user. */
  clear: (owner: string) => Promise<void>
}
export type SnapshotWriter = {
  /** A room has changed, or without an id the list of channels. */
  note: (channelId?: string) => void
  /** Stores at once what has changed. */
  flush: () => void
  stop: () => void
}
