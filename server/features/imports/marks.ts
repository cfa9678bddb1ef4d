import { limits } from '@parley/contract'
import type { Tx } from '../../db/client.ts'
import { kindsOf } from '../messages/reaction-groups.ts'
import { due, takeDue } from './number.ts'
import type { Refusal } from './records.ts'

/** Stores what belongs to messages, once all messages of its channels are stored. */

type HiddenChannels = { appId: string; channelIds: string[] }
/** `isGone`: its message or its user was deleted since it was read. */
type StoredMark = { line: number; isStored: boolean; isGone: boolean }
type Step = { count: number; refusals: Refusal[] }

const stepOf = (marks: StoredMark[], reason: string): Step => ({
  count: marks.length,
  refusals: marks
    .filter(({ isStored }) => !isStored)
    .map(({ line, isGone }) => ({ line, reason: isGone ? GONE : reason })),
})
const GONE = 'messageId: the message or the user was deleted during the import'

/**
 * Locks hidden channels against the erasure of users in them, so that what a later statement finds
 * undeleted stays so until the end of the step.
 */
export const lockHidden = (db: Tx, { appId, channelIds }: HiddenChannels) => db`
  select
  from channels c
  where c.id = any(${channelIds}::uuid[])
    and c.app_id is not distinct from ${appId}
  order by c.id
  for no key update`

/** Stores the next reactions. */
export async function storeReactions(db: Tx, { appId, channelIds }: HiddenChannels) {
  const query = { appId, channelIds, kind: 'reaction' as const }
  await lockHidden(db, query)
  const marks = await db<StoredMark[]>`
    with due as materialized (${due(db, query)}),
    taken as (${takeDue(db, query)}),
    checked as materialized (
      select
        due.*, msg.id as message_id, due."row" ->> 'emoji' as emoji, u.id as user_id,
        msg.deleted_at is null and u.deleted_at is null as is_possible,
        existing.is_known,
        existing.kinds + dense_rank() over (
          partition by msg.id, existing.is_known, u.deleted_at
          order by due."row" ->> 'emoji'
        ) as kinds
      from due
      join messages msg on msg.id = (due."row" ->> 'messageId')::uuid
      join users u on u.app_id = ${appId} and u.id = due."row" ->> 'userId'
      cross join lateral (
        with recursive kinds as (${kindsOf(db, db`msg.id`)})
        select
          count(*) as kinds,
          coalesce(bool_or(kinds.emoji = due."row" ->> 'emoji'), false) as is_known
        from kinds
      ) existing
    ),
    stored as (
      insert into reactions (app_id, message_id, emoji, user_id, created_at)
      select ${appId}, message_id, emoji, user_id, created_at
      from checked
      where is_possible
        and (is_known or kinds <= ${limits.reactionKinds})
      on conflict do nothing
    ),
    former as (
      insert into former_members (app_id, channel_id, user_id)
      select distinct ${appId}::uuid, checked.channel_id, checked.user_id
      from checked
      where is_possible
        and not exists (
          select
          from members m
          where m.channel_id = checked.channel_id
            and m.user_id = checked.user_id
        )
      on conflict do nothing
    )
    select
      line,
      is_possible and (is_known or kinds <= ${limits.reactionKinds}) as is_stored,
      not is_possible as is_gone
    from checked`
  return stepOf(marks, `emoji: a message can have at most ${limits.reactionKinds} kinds`)
}

/** Stores the next pins, the earliest first. */
export async function storePins(db: Tx, { appId, channelIds }: HiddenChannels) {
  const query = { appId, channelIds, kind: 'pin' as const }
  await lockHidden(db, query)
  const marks = await db<StoredMark[]>`
    with due as materialized (${due(db, query)}),
    taken as (${takeDue(db, query)}),
    checked as materialized (
      select
        due.*, msg.id as message_id, msg.deleted_at is not null as is_gone,
        msg.deleted_at is null
          and existing.pins + row_number() over (
            partition by due.channel_id, msg.deleted_at is null
            order by due.created_at, due.position
          ) <= ${limits.pins} as is_stored
      from due
      join messages msg on msg.id = due.key::uuid
      cross join lateral (
        select count(*) as pins
        from pins p
        where p.channel_id = due.channel_id
      ) existing
    ),
    stored as (
      insert into pins (app_id, channel_id, message_id, pinned_by, pinned_at)
      select ${appId}, channel_id, message_id, "row" ->> 'userId', created_at
      from checked
      where is_stored
      on conflict do nothing
    )
    select line, is_stored, is_gone
    from checked`
  return stepOf(marks, `messageId: a channel can have at most ${limits.pins} pins`)
}

/** Stores the next read positions. */
export async function storeReads(db: Tx, { appId, channelIds }: HiddenChannels) {
  const query = { appId, channelIds, kind: 'read' as const }
  const marks = await db<StoredMark[]>`
    with due as materialized (${due(db, query)}),
    taken as (${takeDue(db, query)}),
    position as materialized (
      select due.channel_id, due."row" ->> 'userId' as user_id, msg.seq, due.created_at, due.line
      from due
      join messages msg on msg.id = (due."row" ->> 'messageId')::uuid
    ),
    moved as (
      update members m
      set last_read_seq = position.seq, unread_after_seq = position.seq
      from position
      where m.channel_id = position.channel_id
        and m.user_id = position.user_id
      returning m.channel_id, m.user_id
    ),
    marked as (
      insert into read_marks (app_id, channel_id, user_id, seq, read_at)
      select ${appId}, position.channel_id, position.user_id, position.seq, position.created_at
      from position
      join moved using (channel_id, user_id)
      on conflict do nothing
    )
    select line, true as is_stored, false as is_gone
    from position`
  return stepOf(marks, '')
}
