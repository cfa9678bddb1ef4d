import type { ChannelList } from '../channels/list.ts'
import type { ListedChannel } from '../channels/reducer.ts'
import type { UnreadCounts } from '../channels/unread.ts'
import type { RestoredList } from '../context.ts'
import type { ChatMessage } from '../room/state.ts'
import type { ChannelSync } from '../room/sync.ts'

// The interface between the client and its snapshot store. The store has an entry of its own, so
// that only those who use it load its code.

/** The newest messages of a room, without a gap, as they were at a rev. */
export type RoomSnapshot = {
  /** The server's numbering, of which the rev is. */
  epoch: string
  /** The position in the channel's events that they are up to date with. */
  rev: number
  /** The seq from which on every message is included; 0 if there are no older ones. */
  from: number
  /** Oldest first. */
  messages: ChatMessage[]
}
/** The channels that were listed first, and the total of unread messages. */
export type ListSnapshotData = {
  /** The server's numbering, of which the channels' revs are. */
  epoch: string
  /** Newest activity first. */
  listed: ListedChannel[]
  /** Unread messages in all channels. */
  totalUnread: number
}

/** The current state; undefined for parts that are not up to date. */
export type SnapshotSource = {
  /** The list of channels. */
  list: () => ListSnapshotData | undefined
  /** A room, by its channel's id. */
  room: (channelId: string) => RoomSnapshot | undefined
}
/** The stored state of the list, and of rooms by their ids. */
export type LoadedSnapshots = {
  /** The list of channels, if it was stored. */
  list: ListSnapshotData | undefined
  /** By channel id. */
  rooms: Map<string, RoomSnapshot>
}

/** Stores what was shown last, for starts without a network: see `@parley/client/snapshots`. */
export type Snapshots = {
  /** Reads what was stored of a user of a server; unusable data is removed. */
  load: (owner: string) => Promise<LoadedSnapshots>
  /** From now on stores what has changed, now and then. */
  start: (owner: string, source: SnapshotSource) => SnapshotWriter
  /** Removes a room of a user. */
  removeRoom: (owner: string, channelId: string) => Promise<void>
  /** Removes everything of a user. */
  clear: (owner: string) => Promise<void>
  /** Restores and stores what a client shows. */
  keep: (shown: ShownSource) => SnapshotKeeper
}
/** Stores what has changed, until it is stopped. */
export type SnapshotWriter = {
  /** A room has changed, or without an id the list of channels. */
  note: (channelId?: string) => void
  /** Stores at once what has changed. */
  flush: () => void
  /** Stores nothing more. */
  stop: () => void
}

/** A room that can show what was stored of it. */
type ShownRoom = { readonly id: string; readonly sync: ChannelSync }
/** The channels that a client has loaded, and its lists of them. */
export type ShownChannels = {
  channels: Map<string, ListedChannel>
  lists: ReadonlyMap<string, ChannelList>
  unread: UnreadCounts
  /** Shows the channels as they are now. */
  refresh: () => void
  /** Removes channels, and shows what is left. */
  remove: (...channelIds: string[]) => void
}
/** The state that a client shows. */
export type ShownSource = {
  /** Its channels and lists. */
  channels: ShownChannels
  /** Its rooms, by channel id. */
  rooms: ReadonlyMap<string, ShownRoom>
  /** Hears of what failed. */
  onError: (error: unknown) => void
}
/** The snapshots of one client. */
export type SnapshotKeeper = SnapshotWriter & {
  /** The stored list of channels, as far as nothing newer is loaded. */
  readonly list: RestoredList
  /** Shows what was stored of a user of a server, and stores what is shown from then on. */
  open: (owner: string) => Promise<void>
  /** Shows what was stored of a room that is opened now. */
  openRoom: (room: ShownRoom) => void
  /** Removes the room of a channel that the user may no longer read. */
  removeRoom: (channelId: string) => void
  /** The server's numbering; another one makes what was stored worthless. */
  handleEpoch: (epoch: string) => Promise<void>
  /** Removes everything of a user. */
  clear: (owner: string) => Promise<void>
}
