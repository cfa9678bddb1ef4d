import type { Envelope, UserSummary } from '@parley/contract'
import type { EphemeralNote } from '../../core/event-bus.ts'
import type { Revoked } from '../../core/revocations.ts'
import type { ChannelChange } from '../dirty-channels.ts'
import type { DurablePublication } from '../publication.ts'

/**
 * Notes between nodes. Any note may be lost, duplicated or reordered: durable events are in
 * the log as well, and ephemeral notes are not worth replaying.
 */
export type NodeNote =
  | EventHint
  | EphemeralNote
  | RevokedNote
  | PresenceNote
  | ProfileNote
  | FanoutNote
  | CountsNote
  | CommandsNote
  | AcceptedNote
  | SurveyNote
  | SurveyedNote

/** Announces a durable event that is stored. */
export type EventHint = {
  kind: 'hint'
  topic: string
  offset: number
  /** If absent, the event is read from the log. */
  event?: HintedEvent | undefined
  /** The change for users who are not subscribed to the topic. */
  change?: HintedChange | undefined
}

/** `at`: when it was committed, in milliseconds by the clock of its node. */
type HintedEvent = Pick<DurablePublication, 'type' | 'envelope' | 'messageId'> & {
  at: number
}

/** A change of unread counts or channel lists. `userId` is the author, or who joined or left. */
export type HintedChange = {
  type:
    | 'message.new'
    | 'message.deleted'
    | 'channel.member_joined'
    | 'channel.member_left'
    | 'channel.updated'
    | 'channel.deleted'
  userId?: string
} & Announced

/** The node that looks up the recipients of a fan-out, and the number that it has given it. */
export type Announcer = { id: string; number: number }
/**
 * `announcer` sends it to the users of all nodes. Without one, each node looks up its own users;
 * `failed` could not.
 */
export type Announced = { announcer?: Announcer | undefined; failed?: Announcer | undefined }

/** Credentials were revoked: caches drop them, and their sockets are closed. */
export type RevokedNote = { kind: 'revoked'; revoked: Revoked }

/**
 * The unread counts of users of `node`. The kind and the node come first: other nodes read no more.
 * `snapshot`: the number of the one that they were read from, absent from earlier versions.
 */
export type CountsNote = {
  kind: 'counts'
  node: string
  snapshot?: number | undefined
  channels: ChannelCounts[]
}
/** The counts of one channel, and why they were read. */
export type ChannelCounts = ChannelChange & {
  appId: string
  channelId: string
  users: [userId: string, count: number, version: number][]
}

/**
 * Commands of a client that reached a node other than that of its connection. They are sent to
 * `node`, which has it. The kind and the node come first: other nodes read no more.
 */
export type CommandsNote = {
  kind: 'commands'
  node: string
  id: string
  from: string
  /** The id of the session; servers of 0.2.0 know it by this name. */
  session: string
  data: string
  isBinary: boolean
}

/** The answer, for `node`, to the commands with this id. It begins like them. */
export type AcceptedNote = { kind: 'accepted'; node: string; id: string; isKnown: boolean }

/** Asks all nodes for their subscriptions to a topic. */
export type SurveyNote = { kind: 'survey'; id: string; from: string; topic: string }

/** The answer, for `node`, to the survey with this id. */
export type SurveyedNote = {
  kind: 'surveyed'
  id: string
  node: string
  /** The node that answers. Absent from servers of earlier versions. */
  from?: string | undefined
  clients: { user: string; client: string }[]
}

export type PresenceNote = {
  kind: 'presence'
  appId: string
  userId: string
  isOnline: boolean
  lastActiveAt: string | null
  /** Absent from servers of earlier versions. */
  version?: number | undefined
} & Announced
export type ProfileChange = {
  appId: string
  user: UserSummary
  version?: number | undefined
} & Announced
export type ProfileNote = { kind: 'profile' } & ProfileChange

/**
 * Events for users of `node`, in their own topics. The kind and the node come first: other nodes
 * read no more. The users of a group receive the fan-outs whose bits are set in `fanoutBits`,
 * which are base64 and begin with the lowest bit.
 */
export type FanoutNote = {
  kind: 'fanout'
  node: string
  fanouts: Fanout[]
  groups: [fanoutBits: string, userIds: string[]][]
}
/** An event for users about a subject, which a newer one may have overtaken. */
export type Fanout = {
  appId: string
  event: Envelope
  subject: string
  /** The offset of a channel's event, or the version of a profile: the lower one is older. */
  offset?: number | undefined
  /** If absent, each node has found the recipients among its own users. */
  announcer?: Announcer | undefined
}

/** The channel for the notes to one node, with brokers that have a channel for each topic. */
export const inboxOf = (nodeId: string) => `node:${nodeId}`

/**
 * The topics that a node wants notes about. Notes that concern users regardless of a topic always
 * come.
 */
export interface Interest {
  /** Each call needs one of `unfollow`. */
  follow(topic: string): void
  unfollow(topic: string): void
  /**
   * Resolves when notes about all followed topics arrive. If that fails or takes too long, it
   * resolves soon anyway, and `onMissedNotes` is called once they do. Undefined if they arrive
   * already, or cannot now.
   */
  settled(): Promise<void> | undefined
}

/** Carries notes between the nodes of one database. A node does not receive its own. */
export interface Broker extends Interest {
  /**
   * `onMissedNotes` is called when notes may have been missed, with the length of the gap, and with
   * the node whose notes they were, if it is one.
   */
  start(listener: {
    onNote(note: NodeNote): void
    onMissedNotes(milliseconds: number, nodeId?: string): void
  }): Promise<void>
  send(note: NodeNote): void
  /** Sends a note that had no answer over another way, where there is one. */
  resend?(note: NodeNote): void
  /** Whether there may be other nodes with users. */
  hasPeers(): boolean
  stop(): Promise<void>
}
