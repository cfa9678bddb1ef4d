import type { contract, Message } from '@parley/contract'
import { v7 as uuidv7 } from 'uuid'
import { originOf, type WriteContext } from '../../core/context.ts'
import type { LockedCounters } from '../../core/event-buffer.ts'
import type { Outcome } from '../../core/operation.ts'
import type { Tx } from '../../db/client.ts'
import type { MemberRow, MessageRow } from '../../db/rows.ts'
import { mergeCustom, withCustom } from '../custom.ts'
import { SYSTEM_USER } from '../system-user.ts'
import { countSilent } from '../tombstones.ts'
import { linksIn } from './links.ts'
import { mentionsIn } from './mentions.ts'
import type { SendFacts } from './send-facts.ts'

export type SendOutcome = Outcome<typeof contract.messages.send>
export type Append = (facts: SendFacts, channel: LockedCounters) => SendOutcome

type AppendContext = Pick<
  WriteContext,
  'db' | 'emit' | 'nextSeq' | 'enqueue' | 'write' | 'services'
>
type NewMessage = Message & { appId: string; authorSeq: number }
export type Thread = Pick<MessageRow, 'id' | 'replyCount' | 'rev'>
type Marker = Pick<MemberRow, 'channelId' | 'userId' | 'lastReadSeq' | 'unreadAfterSeq'>

/**
 * Collects the messages of a batch: `append` accepts one and emits its event; `write` stores all of
 * them, their threads' counts and their authors' markers in one statement.
 */
export function createAppender(ctx: AppendContext) {
  const messages: NewMessage[] = []
  const threads = new Map<string, Thread>()
  const markers = new Map<string, Marker>()
  const authorSeqs = new Map<string, number>()
  const sentByKey = new Map<string, Message>()

  const append: Append = (facts, channel) => {
    const { author, command } = facts
    const { clientId } = command.input
    const { trace } = command.caller
    const key = `${channel.id} ${author.id} ${clientId}`
    const repeated = clientId === undefined ? undefined : sentByKey.get(key)
    if (repeated) return { result: repeated, isRepeat: true }

    const message = emitMessage(facts, channel)
    if (isPushed(message, command.input.silent))
      ctx.enqueue('push-message', { messageId: message.id }, trace)
    if (linksIn(message.text).length > 0) ctx.enqueue('preview', { messageId: message.id }, trace)
    if (clientId !== undefined) sentByKey.set(key, message)
    const authorSeq = nextOfAuthor(facts, message)
    messages.push({ ...message, appId: command.caller.appId, authorSeq })
    const { appId, userId } = command.caller
    if (userId !== null) ctx.services.lastActive.touch({ appId, userId })
    return { result: message }
  }

  const emitMessage = (facts: SendFacts, channel: LockedCounters) => {
    const id = uuidv7()
    const seq = ctx.nextSeq(channel)
    const parent = nextInThread(facts)
    const authorLastReadSeq = moveMarker(facts, { channelId: channel.id, seq })
    const payloadAt = (rev: number) => ({
      channelId: channel.id,
      message: newMessage(facts, { id, channelId: channel.id, seq, rev }),
      authorLastReadSeq,
      ...(parent ? { parent } : {}),
      ...originOf(facts.command.caller),
    })
    const { message } = ctx.emit(channel, 'message.new', payloadAt, id)
    if (parent) threads.set(parent.id, { ...parent, rev: message.rev })
    return message
  }

  const nextOfAuthor = ({ authorSeq }: SendFacts, { channelId, userId }: Message) => {
    const key = `${channelId} ${userId}`
    const next = (authorSeqs.get(key) ?? authorSeq) + 1
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

  const write = () => {
    if (messages.length === 0) return
    ctx.write(
      insertMessages(ctx.db, {
        messages,
        threads: [...threads.values()],
        markers: [...markers.values()],
      }),
    )
  }
  return { append, write }
}

type Position = Pick<Message, 'id' | 'channelId' | 'seq' | 'rev'>

/** System messages only if it was asked for. */
const isPushed = ({ type }: Message, silent: boolean | undefined) =>
  type === 'system' ? silent === false : !silent

const newMessage = (
  { author, command, rootId, now }: SendFacts,
  { id, channelId, seq, rev }: Position,
): Message => ({
  id,
  channelId,
  type: command.caller.userId === null ? 'system' : 'regular',
  userId: author.id,
  text: command.input.text,
  seq,
  rev,
  user: command.caller.userId === null ? SYSTEM_USER : author,
  reactions: [],
  mentions: mentionsIn(command.input.text),
  attachments: command.input.attachments,
  ...withCustom(mergeCustom(null, command.input.custom)),
  ...((command.caller.userId === null || command.input.silent) && { silent: true }),
  parentId: rootId,
  replyCount: 0,
  pinned: false,
  clientId: command.input.clientId ?? null,
  createdAt: now,
  updatedAt: now,
  editedAt: null,
  deletedAt: null,
})

/** A user's own message counts as read only if they had read everything before it. */
const advance = (marker: Marker, seq: number): Marker => ({
  ...marker,
  lastReadSeq: marker.lastReadSeq === seq - 1 ? seq : marker.lastReadSeq,
  unreadAfterSeq: marker.unreadAfterSeq === seq - 1 ? seq : marker.unreadAfterSeq,
})

const hasMoved = (before: Marker, after: Marker) =>
  after.lastReadSeq !== before.lastReadSeq || after.unreadAfterSeq !== before.unreadAfterSeq

type Batch = { messages: NewMessage[]; threads: Thread[]; markers: Marker[] }

function insertMessages(db: Tx, { messages, threads, markers }: Batch) {
  const silent = messages.filter((message) => message.silent)
  const updates = [
    ...(threads.length > 0 ? [db`threads as (${updateThreads(db, threads)})`] : []),
    ...(markers.length > 0 ? [db`markers as (${updateMarkers(db, markers)})`] : []),
    ...(silent.length > 0 ? [db`silent as (${countSilent(db, silent)})`] : []),
  ]
  const withUpdates = updates.reduce(
    (before, update, index) => (index === 0 ? db`with ${update}` : db`${before}, ${update}`),
    db``,
  )
  return db`
    ${withUpdates}
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, author_seq,
      text, mentions, attachments, custom,
      type, silent,
      parent_id, client_id,
      created_at, updated_at
    )
    select
      id, "appId", "channelId", "userId", seq, rev, "authorSeq",
      text, mentions, attachments, custom,
      nullif(type, 'regular'), silent,
      "parentId", "clientId",
      "createdAt", "createdAt"
    from jsonb_to_recordset(${db.json(messages as never)}) as message (
      id uuid, "appId" uuid, "channelId" uuid, "userId" text, seq int, rev int, "authorSeq" int,
      text text, mentions text[], attachments jsonb, custom jsonb,
      type text, silent boolean,
      "parentId" uuid, "clientId" text,
      "createdAt" timestamptz
    )`
}

// The updates take arrays of keys, and are left out where there are none: a JSON document is
// planned as a hundred rows, for which the whole table is read.

function updateThreads(db: Tx, threads: Thread[]) {
  const ids = threads.map(({ id }) => id)
  const replyCounts = threads.map(({ replyCount }) => replyCount)
  const revs = threads.map(({ rev }) => rev)
  return db`
    update messages msg
    set reply_count = thread.reply_count, rev = thread.rev
    from unnest(${ids}::uuid[], ${replyCounts}::int[], ${revs}::int[])
      as thread (id, reply_count, rev)
    where msg.id = thread.id`
}

function updateMarkers(db: Tx, markers: Marker[]) {
  const channelIds = markers.map(({ channelId }) => channelId)
  const userIds = markers.map(({ userId }) => userId)
  const lastReadSeqs = markers.map(({ lastReadSeq }) => lastReadSeq)
  const unreadAfterSeqs = markers.map(({ unreadAfterSeq }) => unreadAfterSeq)
  return db`
    update members m
    set
      last_read_seq = greatest(m.last_read_seq, marker.last_read_seq),
      unread_after_seq = greatest(m.unread_after_seq, marker.unread_after_seq)
    from unnest(
      ${channelIds}::uuid[], ${userIds}::text[], ${lastReadSeqs}::int[], ${unreadAfterSeqs}::int[]
    ) as marker (channel_id, user_id, last_read_seq, unread_after_seq)
    where m.channel_id = marker.channel_id
      and m.user_id = marker.user_id`
}
