import type { Message } from '@parley/contract'
import type { Tx } from '../../db/client.ts'
import { valueTypes } from '../../db/value-types.ts'
import { insertStreams } from '../streams/insert.ts'
import { countSilent } from '../tombstones.ts'
import type { Marker, Thread } from './batch-counters.ts'

export type NewMessage = Message & { appId: string; authorSeq: number }
type InsertBatch = { messages: NewMessage[]; threads: Thread[]; markers: Marker[] }

/** Inserts the messages of a batch and makes their updates, in one statement. */
export function insertMessages(db: Tx, { messages, threads, markers }: InsertBatch) {
  const silent = messages.filter((message) => message.silent)
  const streaming = messages.filter((message) => message.streaming)
  const updates = [
    ...(threads.length > 0 ? [db`threads as (${updateThreads(db, threads)})`] : []),
    ...(markers.length > 0 ? [db`markers as (${updateMarkers(db, markers)})`] : []),
    ...(silent.length > 0 ? [db`silent as (${countSilent(db, silent)})`] : []),
    ...(streaming.length > 0 ? [db`streams as (${insertStreams(db, streaming)})`] : []),
  ]
  const withUpdates = updates.reduce(
    (before, update, index) => (index === 0 ? db`with ${update}` : db`${before}, ${update}`),
    db``,
  )
  const each = <T>(pick: (message: NewMessage) => T) => messages.map(pick)
  const appId = messages[0]?.appId ?? ''
  return db`
    ${withUpdates}
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, created_rev, author_seq,
      text, mentions, attachments, custom,
      type, silent, streaming,
      parent_id, quoted_id, client_id,
      created_at, updated_at
    )
    select
      id, ${appId}::uuid, channel_id, user_id, seq, rev, rev, author_seq,
      text, mentions::text[], attachments::jsonb, custom::jsonb,
      type, silent = 1, streaming = 1,
      parent_id, quoted_id, client_id,
      created_at, created_at
    from unnest(
      ${each(({ id }) => id)}::uuid[],
      ${each(({ channelId }) => channelId)}::uuid[],
      ${each(({ userId }) => userId)}::text[],
      ${each(({ seq }) => seq)}::int[],
      ${each(({ rev }) => rev)}::int[],
      ${each(({ authorSeq }) => authorSeq)}::int[],
      ${each(({ text }) => text)}::text[],
      ${each(({ mentions }) => arrayText(mentions))}::text[],
      ${each(({ attachments }) => JSON.stringify(attachments))}::text[],
      ${each(({ custom }) => (custom ? JSON.stringify(custom) : null))}::text[],
      ${each(({ type }) => (type === 'regular' ? null : type))}::text[],
      ${each(({ silent }) => (silent ? 1 : null))}::int[],
      ${each(({ streaming }) => (streaming ? 1 : null))}::int[],
      ${each(({ parentId }) => parentId)}::uuid[],
      ${each(({ quotedMessage }) => quotedMessage?.id ?? null)}::uuid[],
      ${each(({ clientId }) => clientId)}::text[],
      ${each(({ createdAt }) => createdAt)}::timestamptz[]
    ) as message (
      id, channel_id, user_id, seq, rev, author_seq,
      text, mentions, attachments, custom, type, silent, streaming,
      parent_id, quoted_id, client_id, created_at
    )`
}

/** An array within an array, as PostgreSQL writes it: all of the outer array have one length. */
const arrayText = (mentions: string[]) => valueTypes.textArray.serialize(mentions)

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
