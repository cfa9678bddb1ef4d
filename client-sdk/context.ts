import type { Gate } from './calls/retry.ts'
import type { LatestProfiles } from './channels/latest-profiles.ts'
import type { ReadAnswer } from './channels/versions.ts'
import type { Channel, TokenResult, UserApi, UserSummary } from './generated/types.ts'
import type { Outbox } from './outbox/index.ts'
import type { CatchUp } from './realtime/catch-up.ts'
import type { Connection } from './realtime/connection.ts'
import type { Emitter } from './realtime/events.ts'
import type { ChannelTopics } from './realtime/topics.ts'

/** Channels that an earlier page has listed. */
export type RestoredList = {
  /** Shows them in a list that has not loaded. */
  showIn: (list: { restore: (sortKey: number) => void }) => void
  /** Called when the lists have loaded. */
  end: () => void
  /** Called when they are of another epoch, or of another app. */
  drop: () => void
}
/** The part of the snapshots that channels and their records use. */
export type ChannelSnapshots = {
  readonly list: RestoredList
  /** Called when the user may no longer read a channel. */
  removeRoom: (channelId: string) => void
}
/** Shared by the parts of a client. */
export type ClientContext = SharedContext & {
  /** The part of the channels' records that rooms read and change. */
  records: {
    get: (channelId: string) => Channel | undefined
    /** The same as it is shown: without what the user is reading now. */
    shown: (channelId: string) => Channel | undefined
    /** Loads a record that no list has. */
    load: (channelId: string) => Promise<void>
    startReading: (channelId: string, seq?: number) => boolean
    endReading: (channelId: string, answer?: ReadAnswer) => void
    /** Forgets the records that no list shows and no open room needs. */
    release: () => void
    /** The latest names and images of users, from events. */
    readonly profiles: Pick<LatestProfiles, 'now' | 'after'>
  }
}

/** The part that the channels' records use as well. */
export type SharedContext = {
  api: UserApi
  gate: Pick<Gate, 'reopen'>
  link: Connection
  emitter: Emitter
  outbox: Outbox
  topics: ChannelTopics
  catchUp: CatchUp
  /** The user's session; undefined before the first token. */
  userSession: () => TokenResult | undefined
  /** The user of the session, or of the one before; undefined while nothing is known. */
  user: () => TokenResult['user'] | undefined
  /** Called when something that is shown has changed: a room, or without an id the list. */
  note: (channelId?: string) => void
  /** The snapshots of what is shown. */
  keeper: () => ChannelSnapshots | undefined
  /** Whether somebody watches a room, or the record of its channel. */
  isOpen: (channelId: string) => boolean
  /** Called when nobody watches a room any more. */
  onLeft: (channelId: string) => void
  /** Reports errors that no caller can catch. */
  onError: (error: unknown) => void
}

/** The user's public profile; undefined while nothing is known. */
export function currentUser({ user }: SharedContext): UserSummary | undefined {
  const known = user()
  return known && { id: known.id, name: known.name, image: known.image }
}

/** The user's id; empty while nothing is known. */
export const currentUserId = ({ user }: SharedContext) => user()?.id ?? ''
