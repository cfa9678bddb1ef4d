import type { CatchUp } from './catch-up.ts'
import type { UnreadCount } from './channels/versions.ts'
import type { Connection } from './connection.ts'
import type { Emitter } from './events.ts'
import type { Outbox } from './outbox.ts'
import type { ChannelTopics } from './topics.ts'
import type { Channel, TokenResult, UserApi, UserSummary } from './types.ts'

/** Shared by the parts of a client. */
export type ClientContext = SharedContext & {
  /** The part of the channels' records that rooms read and change. */
  records: {
    get: (channelId: string) => Channel | undefined
    startReading: (channelId: string) => void
    endReading: (channelId: string, left?: UnreadCount) => void
  }
}

/** The same for the records of the channels themselves. */
export type SharedContext = {
  api: UserApi
  connection: Connection
  events: Emitter
  outbox: Outbox
  topics: ChannelTopics
  catchUp: CatchUp
  /** The user's session; undefined before the first token. */
  session: () => TokenResult | undefined
  /** Reports errors that no caller can catch. */
  onError: (error: unknown) => void
}

/** The user's public profile; undefined before the first token. */
export function currentUser({ session }: SharedContext): UserSummary | undefined {
  const user = session()?.user
  return user && { id: user.id, name: user.name, image: user.image }
}

/** The user's id; empty before the first token. */
export const currentUserId = ({ session }: SharedContext) => session()?.user.id ?? ''
