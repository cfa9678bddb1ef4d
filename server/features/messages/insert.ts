import type { Message } from '@parley/contract'
import type { Tx } from '../../db/client.ts'
import { insertStreams } from '../streams/insert.ts'
import { countSilent } from '../tombstones.ts'
import type { Marker, Thread } from './batch-counters.ts'

export type NewMessage = Message & { appId: string; authorSeq: number }
type Batch = { messages: NewMessage[]; threads: Thread[]; markers: Marker[] }

/** Inserts the messages of a batch and makes their updates, in one statement. */
export function insertMessages(db: Tx, { messages, threads, markers }: Batch) {
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
  return db`
    ${withUpdates}
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, author_seq,
      text, mentions, attachments, custom,
      type, silent, streaming,
      parent_id, client_id,
      created_at, updated_at
    )
    select
      id, "appId", "channelId", "userId", seq, rev, "authorSeq",
      text, mentions, attachments, custom,
      nullif(type, 'regular'), silent, streaming,
      "parentId", "clientId",
      "createdAt", "createdAt"
    from jsonb_to_recordset(${db.json(messages as never)}) as message (
      id uuid, "appId" uuid, "channelId" uuid, "userId" text, seq int, rev int, "authorSeq" int,
      text text, mentions text[], attachments jsonb, custom jsonb,
      type text, silent boolean, streaming boolean,
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
