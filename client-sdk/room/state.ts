import type { ChatError } from '../calls/error.ts'
import type { Member, Message, PinnedMessage, UserSummary } from '../generated/types.ts'
import { OrderedMessages } from './ordered.ts'

/** A part of a text that grows, and where it begins. */
export type Delta = { at: number; text: string }

/** A message as an application shows it: sent, or still waiting in the outbox. */
export interface ChatMessage extends Message {
  /**
   * `pending` until the server has stored it; `failed` if the server refused it. An unsent message
   * has its `clientId` as `id`.
   */
  status: 'sent' | 'pending' | 'failed'
  /** Why it failed. */
  error?: ChatError | undefined
  /** While pending: why the last attempt failed, and when the next one is, in ISO 8601. */
  waiting?: { until: string; error: ChatError } | undefined
}

/** How far a member has read. */
export type ReadPosition = {
  /** The `seq` of the last message that they read; 0 if none. */
  lastReadSeq: number
  /** When they reached the position; null if that is not known. */
  readAt: string | null
}

/**
 * Which messages: the channel's, those that are no replies, or with a `parentId` the replies of a
 * thread.
 */
export type Timeline = { parentId?: string | undefined; replies?: false | undefined }
/** A message that was sent just now, in one of its timelines. */
type JustSent = Timeline & { messageId: string }

/** The loaded part of a timeline, by seq, without gaps. `to` is Infinity at the newest message. */
export type TimelineWindow = { from: number; to: number }

/**
 * The server's state of a channel, as far as it was loaded. `messages` holds all messages that were
 * loaded, in timelines or otherwise, tombstones included; each is kept up to date. The windows
 * define which of them a timeline shows. Members, reads and pins are null until loaded.
 */
export type ChannelState = {
  rev: number
  messages: OrderedMessages<ChatMessage>
  /** By message: parts of its growing text that wait for parts before them. */
  early: ReadonlyMap<string, readonly Delta[]>
  mainWindow: TimelineWindow | null
  /** Of threads by their root, and with an empty key of the messages that are no replies. */
  threadWindows: ReadonlyMap<string, TimelineWindow>
  /**
   * Messages that this client has sent; a timeline shows them even if its window does not reach
   * that far.
   */
  justSent: readonly JustSent[]
  members: ReadonlyMap<string, Member> | null
  reads: Readonly<Record<string, ReadPosition>> | null
  pins: readonly PinnedMessage[] | null
  /** A message was pinned; events do not contain by whom, so the pins have to be reloaded. */
  arePinsStale: boolean
  typing: readonly UserSummary[]
}

export const emptyState: ChannelState = {
  rev: 0,
  messages: /* @__PURE__ */ OrderedMessages.of(),
  early: new Map(),
  mainWindow: null,
  threadWindows: new Map(),
  justSent: [],
  members: null,
  reads: null,
  pins: null,
  arePinsStale: false,
  typing: [],
}

export const toChatMessage = (message: Message): ChatMessage => ({ ...message, status: 'sent' })
