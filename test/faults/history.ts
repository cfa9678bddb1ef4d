import type { Growth } from '../support/splice.ts'

/** For how long users who leave count as online. */
export const GRACE_MS = 1_000
/** The fault that must have closed at least one connection. */
export const CLOSED_IN_TRANSACTIONS = 'closed in transactions'
export const DATABASE_CLOCK_SET = 'clock of the database set'

/**
 * The events of a run and the state found after it, as plain data: each check is a function of
 * it. Times are those of the rig's monotonic clock, in milliseconds.
 */
export type History = {
  calls: Call[]
  faults: Fault[]
  returns: Return[]
  /** Programs that ended by themselves. */
  deaths: string[]
  /** Connections that were closed at an answer within a transaction. */
  closures: number
  /** How soon a node must serve again after its database does, in milliseconds. */
  returnWithinMs: number
  /**
   * How many milliseconds it took until, after the last fault or after users came or left, all
   * nodes knew who is online; and after the last call, until all users had received their counts
   * and who is online.
   */
  convergenceMs: number[]
  /** The most milliseconds that each of these may take. */
  convergeWithinMs: number
  messages: SentMessage[]
  /** Messages that grew while a bot wrote them. */
  streams: Stream[]
  imports: Import[]
  reactions: SentReaction[]
  reads: SentRead[]
  freezes: Freeze[]
  refusals: Refusal[]
  subscriptions: Subscription[]
  /** Whether the app has a webhook for all of its events. */
  hasWebhook: boolean
  /** The deliveries that the receiver of the webhook accepted, repeats included. */
  hooked: Hooked[]
  /** The pushes that the provider received, repeats included: `message:user:workflow`. */
  pushes: string[]
  members: string[]
  /** The users who connect and leave, and whether they are connected at the end. */
  visitors: { userId: string; isConnected: boolean }[]
  found: Found
}

/** An attempt to call a node. */
export type Call = {
  node: number
  name: string
  startedAt: number
  endedAt: number
  /** Undefined if no answer came. */
  status: number | undefined
  hasRetryAfter: boolean
  /** Whether the app's backend made it as the user, by its key. */
  isActed: boolean
}

export type Fault = {
  name: string
  /** The node; undefined if the fault concerns all nodes. */
  node: number | undefined
  from: number
  to: number
  /** Whether it stops the node or breaks the way to it, so that callers may get no answer. */
  breaksAnswers: boolean
}

/** A database that accepted connections again, and how soon a node served again. */
type Return = { node: number; milliseconds: number; asked?: Asked[] }
/** A call that ended before that, with the time when it was made and how long its answer took. */
export type Asked = {
  kind: 'read' | 'send'
  status: number | undefined
  at: number
  tookMs: number
}

/** An answer to a send. Repeats of an ambiguous send have more than one. */
type Acknowledgement = { id: string; seq: number; createdAt: string }

export type SentMessage = {
  clientId: string
  channelId: string
  userId: string
  acknowledged: Acknowledgement[]
  /** The `clientId` of the root that this replies to. */
  parentId: string | undefined
  /** The text, after its last edit. */
  text: string
  isDeleted: boolean
  isPinned: boolean
  /** Whether it counts in no unread count. */
  isSilent: boolean
  isPushed: boolean
  /** Whether its first attempt was refused, so that there was never another. */
  isRefused: boolean
}

export type Stream = {
  clientId: string
  channelId: string
  userId: string
  /** The whole text that its author means to write. */
  text: string
  /** How many characters are known to be stored, and since when. */
  stored: number
  storedAt: number
  /** Whether its author came to the end. */
  hasEnded: boolean
  /** When its author wrote no more. */
  quietAt: number
}

/** History that was imported, several times if a node died. */
type Import = {
  /** The texts of its messages, in the order of their times, by channel. */
  channels: { channelId: string; texts: string[] }[]
  attempts: number
  refused: number
  /** How many messages there were to import when it was done again at the end. */
  importedAgain: number
}

/** The last change of a reaction that its user had acknowledged. */
type SentReaction = { messageId: string; userId: string; emoji: string; isThere: boolean }

/** A read position that was answered. */
type SentRead = { channelId: string; userId: string; lastReadSeq: number }

/** When a channel may have been frozen: from before it was frozen until after it was thawed. */
type Freeze = { channelId: string; from: number; to: number }

/** A call that was refused for good, which no call of the load should be. */
type Refusal = { name: string; code: string }

export type Subscription = {
  userId: string
  topic: string
  /** The offset at which it began. */
  start: number
  received: ReceivedEvent[]
  /** Why it lost its place or ended: nothing may do that. */
  losses: string[]
}

export type ReceivedEvent = {
  /** Undefined for ephemeral events. */
  offset: number | undefined
  type: string
  messageId: string | undefined
  channelId: string | undefined
  userId: string | undefined
  count: number | undefined
  /** The text received of a message that grows, and when. */
  growth?: Growth & { time: number }
}

/** A delivery of a webhook. */
type Hooked = {
  id: string
  type: string
  channelId: string
  /** The user whom the event is for, if it is no event of a channel. */
  userId: string | undefined
  rev: number | undefined
}

/** The state after the run, from the database and from every node. */
export type Found = {
  channels: { id: string; topic: string; lastSeq: number; rev: number }[]
  /** By topic, in the order of offsets. */
  events: FoundEvent[]
  listings: Listing[]
  /** Unread messages, counted row by row. */
  recounts: { userId: string; channelId: string; count: number }[]
  unread: { node: number; userId: string; counts: Record<string, number>; total: number }[]
  /** The read positions of the members. */
  positions: { userId: string; channelId: string; lastReadSeq: number }[]
  /** The presence of the visitors, as each node reports it. */
  presence: { node: number; userId: string; isOnline: boolean }[]
  /** Whether the channels are frozen, as each node reports it. */
  frozen: { node: number; channelId: string; isFrozen: boolean }[]
  /** The messages of channels that were imported, in the order of their seqs. */
  imported: { channelId: string; texts: string[] }[]
  /** Rows whose counters are not what other rows say, by kind. */
  wrongRows: Record<string, number>
  /** The state of Redis that each node reports, if it has one. */
  redis: { node: number; state: string | undefined }[]
}

export type FoundEvent = {
  topic: string
  offset: number
  type: string
  messageId: string | null
  /** The author of the message that it brought. */
  authorId: string | undefined
  /** Whether the channel that it brought is frozen. */
  isFrozen: boolean | undefined
}

/** A channel's messages as one node lists them. */
export type Listing = { node: number; channelId: string; messages: FoundMessage[] }

export type FoundMessage = {
  id: string
  clientId: string | null
  userId: string
  parentId: string | null
  seq: number
  rev: number
  text: string
  createdAt: string
  isDeleted: boolean
  isPinned: boolean
  isSilent: boolean
  isStreaming: boolean
  isInterrupted: boolean
  replyCount: number
  /** As `emoji user`. */
  reactions: string[]
}

/** A check returns a line for each violation. */
export type Check = (history: History) => string[]
