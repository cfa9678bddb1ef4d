import type { Message } from '@parley/contract'
import type { MemberRow, MessageRow } from '../../db/rows.ts'
import type { SendFacts } from './send-facts.ts'

export type Thread = Pick<MessageRow, 'id' | 'replyCount' | 'rev'>
export type Marker = Pick<MemberRow, 'channelId' | 'userId' | 'lastReadSeq' | 'unreadAfterSeq'>

/**
 * Counters that the messages of a batch change: the replies of threads, the markers of the authors,
 * and how many messages each author has in a channel.
 */
export function createBatchCounters() {
  const threads = new Map<string, Thread>()
  const markers = new Map<string, Marker>()
  const authorSeqs = new Map<string, number>()

  const nextOfAuthor = ({ lastAuthorSeq }: SendFacts, { channelId, userId }: Message) => {
    const key = `${channelId} ${userId}`
    const next = (authorSeqs.get(key) ?? lastAuthorSeq) + 1
    authorSeqs.set(key, next)
    return next
  }

  /** The root of the thread that a reply goes into, with the reply counted. */
  const nextInThread = ({ rootId, rootReplyCount }: SendFacts) => {
    if (rootId === null) return undefined
    const replyCount = threads.get(rootId)?.replyCount ?? rootReplyCount
    return { id: rootId, replyCount: replyCount + 1 }
  }

  /** Returns the read position of the author after this message; the system has none. */
  const moveMarker = (
    { author, command, lastReadSeq, unreadAfterSeq }: SendFacts,
    { channelId, seq }: Pick<Message, 'channelId' | 'seq'>,
  ) => {
    if (command.caller.userId === null) return undefined
    const userId = author.id
    const key = `${channelId} ${userId}`
    const marker = markers.get(key) ?? { channelId, userId, lastReadSeq, unreadAfterSeq }
    const moved = advance(marker, seq)
    if (hasMoved(marker, moved)) markers.set(key, moved)
    return moved.lastReadSeq
  }

  return { threads, markers, nextOfAuthor, nextInThread, moveMarker }
}

/** A user's own message counts as read only if they had read everything before it. */
const advance = (marker: Marker, seq: number): Marker => ({
  ...marker,
  lastReadSeq: marker.lastReadSeq === seq - 1 ? seq : marker.lastReadSeq,
  unreadAfterSeq: marker.unreadAfterSeq === seq - 1 ? seq : marker.unreadAfterSeq,
})

const hasMoved = (before: Marker, after: Marker) =>
  after.lastReadSeq !== before.lastReadSeq || after.unreadAfterSeq !== before.unreadAfterSeq
