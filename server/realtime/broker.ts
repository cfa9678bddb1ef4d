import type { Envelope, UserSummary } from '@parley/contract'
import type { EphemeralEvent, RightsNote } from '../core/event-bus.ts'
import type { Revoked } from '../core/revocations.ts'

/**
 * What nodes send each other. Any note may be lost, duplicated or reordered: durable events are
 * only hinted at and read from the log, and ephemeral notes are not worth replaying.
 */
export type NodeNote =
  | EventHint
  | EphemeralEvent
  | RightsNote
  | RevokedNote
  | PresenceNote
  | ToldNote
  | CountsNote
  | CountedNote
  | CommandsNote
  | AcceptedNote
  | SurveyNote
  | SurveyedNote

/** Announces a durable event that is stored. Its content is read from the log. */
export type EventHint = {
  kind: 'hint'
  topic: string
  offset: number
  /** Set if it ends the topic: then the node may know counts of users who do not follow it. */
  isEnd?: true
}

/** Credentials were revoked: caches drop them, and their sockets are closed. */
export type RevokedNote = { kind: 'revoked'; revoked: Revoked }

/** Commands of a client that reached another node than its connection. They are for `node`. */
export type CommandsNote = {
  kind: 'commands'
  id: string
  from: string
  node: string
  session: string
  data: string
  isBinary: boolean
}

/** The answer, for `node`, to the commands with this id. */
export type AcceptedNote = { kind: 'accepted'; id: string; node: string; isKnown: boolean }

/** Asks all nodes for their subscriptions to a topic. */
export type SurveyNote = { kind: 'survey'; id: string; from: string; topic: string }

/** The answer, for `node`, to the survey with this id. */
export type SurveyedNote = {
  kind: 'surveyed'
  id: string
  node: string
  clients: { user: string; client: string }[]
}

/** Who came or went. Each node notes it, to find out later what its users were not told. */
export type PresenceNote = {
  kind: 'presence'
  appId: string
  userId: string
  isOnline: boolean
  lastActiveAt: string | null
}

/** What `node` tells these users of its own in their own topics. */
export type ToldNote = {
  kind: 'told'
  node: string
  appId: string
  userIds: string[]
  event: Envelope
}

/** The unread counts of users of `node`, by channel. */
export type CountsNote = { kind: 'counts'; node: string; channels: ChannelCounts[] }
export type ChannelCounts = {
  appId: string
  channelId: string
  /** The only author of what happened there, whose own count does not change; null if several. */
  author: string | null
  /** Whether a message was deleted: then a count is sent even if it is the last one again. */
  isDeletion: boolean
  users: [userId: string, count: number, version: number][]
}

/** The sender has counted these channels up to these offsets, for all nodes. */
export type CountedNote = { kind: 'counted'; channels: [channelId: string, offset: number][] }

export type ProfileChange = { appId: string; user: UserSummary }

/** What the notes for one node are published to, where topics have channels. */
export const inboxOf = (nodeId: string) => `node:${nodeId}`

/** The topics that a node wants notes about. What concerns users beyond a topic comes anyway. */
export interface Interest {
  /** Each call is ended by one of `unfollow`. */
  follow(topic: string): void
  unfollow(topic: string): void
  /**
   * Resolves when notes about all followed topics arrive; if that takes too long, or fails, soon,
   * and `onMissedNotes` is called once they do. Undefined: they arrive already, or cannot now.
   */
  settled(): Promise<void> | undefined
}

/** Carries notes between the nodes of one database. A node does not receive its own. */
export interface Broker extends Interest {
  /** `onMissedNotes` is called whenever notes may have been missed, with for how long. */
  start(listener: {
    onNote(note: NodeNote): void
    onMissedNotes(milliseconds: number): void
  }): Promise<void>
  send(note: NodeNote): void
  /** Whether another node is known to be there. It may have users at once. */
  hasPeers(): boolean
  stop(): Promise<void>
}
