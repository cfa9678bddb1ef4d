import { CONTENDED } from '../core/operation.ts'
import { channelNotFound, messageNotFound, notMember } from '../core/refusals.ts'
import type { Tx } from '../db/client.ts'
import { channelById } from './channels/by-id.ts'
import { messageIdAt } from './messages/view.ts'

/** How far a member has read a channel: up to a message, or without one all of it. */
type Mark = { channelId: string; userId: string; messageId?: string | undefined }
export type Marks = {
  appId: string
  marks: Mark[]
  /** Whether everything later counts as unread from that message on, or from the channel's end. */
  from: 'message' | 'end'
  /** Whether to wait for rows that others have locked: only with marks of one member. */
  waitsForLocks: boolean
}

/** A member's markers, when the read position was reached, and what was read with them. */
type MovedMarkers = {
  channelId: string
  userId: string
  lastReadSeq: number
  unreadAfterSeq: number
  lastReadMessageId: string | null
  readAt: string
  memberCount: number
  /** The positions of its marks among all marks, from 1. */
  ordinals: number[]
}

/** The marks in their order, each with its channel and message where the app has them. */
const givenMarks = (db: Tx, { appId, marks }: Pick<Marks, 'appId' | 'marks'>) => db`
  unnest(
    ${marks.map(({ channelId }) => channelId)}::uuid[],
    ${marks.map(({ userId }) => userId)}::text[],
    ${marks.map(({ messageId }) => messageId ?? null)}::uuid[]
  ) with ordinality as given (channel_id, user_id, message_id, ordinal)
  left join lateral (${channelById(db, db`given.channel_id`)}) c on c.app_id = ${appId}
  left join messages msg
    on msg.id = given.message_id
    and msg.channel_id is not distinct from c.id`

/**
 * Moves markers of members forward, never back, in one statement; a move of the read position
 * leaves a read mark with its time. Nothing moves in a channel that the user is no member of, or
 * that does not have the message. The channel is not locked: no response or event of others depends
 * on the markers. Several marks of one member are one, the furthest. Member rows are locked in no
 * order, so those that others have locked are skipped where there are several.
 */
export function moveMarkers(db: Tx, { appId, marks, from, waitsForLocks }: Marks) {
  const lastReadMessageId = messageIdAt(db, {
    channelId: db`before.channel_id`,
    seq: db`before.last_read_seq`,
  })
  return db<MovedMarkers[]>`
    with asked as materialized (
      select
        c.id as channel_id, given.user_id, c.last_seq, c.member_count,
        max(case when given.message_id is null then c.last_seq else msg.seq end) as read_seq,
        array_agg(given.ordinal::int) as ordinals
      from ${givenMarks(db, { appId, marks })}
      where c.id is not null
        and (given.message_id is null or msg.id is not null)
      group by c.id, c.last_seq, c.member_count, given.user_id
    ),
    before as materialized (
      select
        m.app_id, m.channel_id, m.user_id, m.last_read_seq as known_seq,
        asked.member_count, asked.ordinals,
        greatest(m.last_read_seq, asked.read_seq) as last_read_seq,
        greatest(m.unread_after_seq, ${from === 'end' ? db`asked.last_seq` : db`asked.read_seq`})
          as unread_after_seq
      from asked
      join members m on m.channel_id = asked.channel_id and m.user_id = asked.user_id
      for no key update of m ${waitsForLocks ? db`` : db`skip locked`}
    ),
    moved as (
      update members m
      set last_read_seq = before.last_read_seq, unread_after_seq = before.unread_after_seq
      from before
      where m.channel_id = before.channel_id
        and m.user_id = before.user_id
        and (m.last_read_seq, m.unread_after_seq)
          is distinct from (before.last_read_seq, before.unread_after_seq)
    ),
    marked as (
      insert into read_marks (app_id, channel_id, user_id, seq)
      select app_id, channel_id, user_id, last_read_seq
      from before
      where known_seq < last_read_seq
      on conflict do nothing
    )
    select
      before.channel_id, before.user_id, before.last_read_seq, before.unread_after_seq,
      ${lastReadMessageId} as last_read_message_id,
      coalesce(
        (
          select read_at
          from read_marks
          where channel_id = before.channel_id
            and user_id = before.user_id
            and seq = before.last_read_seq
        ),
        now()
      ) as read_at,
      before.member_count, before.ordinals
    from before`
}

type MarkFacts = { hasChannel: boolean; hasMessage: boolean; isMember: boolean }

/**
 * The reasons why these marks moved nothing, in their order. Marks of callers who may move them
 * after all are contended; if they have waited already, their caller became a member too late.
 */
export async function whyUnmoved(db: Tx, { appId, marks, waitsForLocks }: Omit<Marks, 'from'>) {
  if (marks.length === 0) return []
  const rows = await db<MarkFacts[]>`
    select
      c.id is not null as has_channel,
      given.message_id is null or msg.id is not null as has_message,
      m.user_id is not null as is_member
    from ${givenMarks(db, { appId, marks })}
    left join members m on m.channel_id = c.id and m.user_id = given.user_id
    order by given.ordinal`
  return rows.map(({ hasChannel, hasMessage, isMember }) => {
    if (!hasChannel) return { error: channelNotFound() }
    if (!isMember || (waitsForLocks && hasMessage)) return { error: notMember() }
    if (!hasMessage) return { error: messageNotFound() }
    return CONTENDED
  })
}
