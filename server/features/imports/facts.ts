import type { ChannelType } from '@parley/contract'
import { type MemberRef, memberKey } from '../../core/user-ref.ts'
import type { Tx } from '../../db/client.ts'
import { stateOfChannel } from '../../db/sql.ts'

/** The facts that the outcomes of a batch depend on, read in a few statements whatever its size. */

/** `importing`: only imports see it. `active`: it is finished, or was never imported. */
export type ChannelFact = { type: ChannelType; state: 'importing' | 'active' | 'deleted' }
export type MessageFact = {
  channelId: string
  /** The root of its thread, if it is a reply. */
  parentId: string | null
  /** In microseconds since 1970. */
  createdMicros: number
  /** Null: it has none yet. */
  seq: number | null
}

/**
 * The users with these ids; false if deleted. None of them can be deleted before the transaction
 * ends.
 */
export async function selectUserFacts(db: Tx, appId: string, ids: string[]) {
  const rows = await db<{ id: string; isActive: boolean }[]>`
    select u.id, u.deleted_at is null as is_active
    from users u
    where u.app_id = ${appId}
      and u.id = any(${ids})
    order by u.id
    for key share`
  return new Map(rows.map(({ id, isActive }) => [id, isActive]))
}

export async function selectChannelFacts(db: Tx, appId: string, ids: string[]) {
  const rows = await db<(ChannelFact & { id: string })[]>`
    select
      c.id, c.type, ${stateOfChannel(db)} as state
    from channels c
    where c.id = any(${ids}::uuid[])
      and c.app_id is not distinct from ${appId}
    order by c.id
    for key share`
  return new Map(rows.map(({ id, ...fact }) => [id, fact]))
}

/** The pairs of users who have a direct message. */
export async function selectTakenPairs(db: Tx, appId: string, pairs: string[]) {
  const rows = await db<{ dmKey: string }[]>`
    select c.dm_key
    from channels c
    where c.app_id = ${appId}
      and c.dm_key = any(${pairs})
      and c.deleted_at is null
    union all
    select c.dm_key
    from channels c
    where c.app_id = ${appId}
      and c.dm_key = any(${pairs})
      and c.deleted_at = 'infinity'`
  return new Set(rows.map(({ dmKey }) => dmKey))
}

/** Messages that are stored, or read and waiting for their seq. */
export async function selectMessageFacts(db: Tx, appId: string, ids: string[]) {
  const rows = await db<(MessageFact & { id: string })[]>`
    select
      given.id,
      coalesce(msg.channel_id, waiting.channel_id) as channel_id,
      coalesce(msg.parent_id, waiting.parent_id) as parent_id,
      (
        extract(epoch from coalesce(msg.created_at, waiting.created_at)) * 1000000
      )::float8 as created_micros,
      msg.seq
    from unnest(${ids}::uuid[]) as given (id)
    left join lateral (
      select msg.channel_id, msg.parent_id, msg.created_at, msg.seq
      from messages msg
      where msg.id = given.id
        and msg.app_id is not distinct from ${appId}
      limit 1
    ) msg on true
    left join lateral (
      select ir.channel_id, (ir.row ->> 'parentId')::uuid as parent_id, ir.created_at
      from imported_rows ir
      where ir.app_id = ${appId}
        and ir.record = 'message'
        and ir.key = given.id::text
      limit 1
    ) waiting on true
    where msg.channel_id is not null
      or waiting.channel_id is not null`
  return new Map(rows.map(({ id, ...fact }) => [id, fact]))
}

/** The members among these, with what they have read. */
export async function selectMemberFacts(db: Tx, appId: string, members: MemberRef[]) {
  const rows = await db<(MemberRef & { lastReadSeq: number })[]>`
    select m.channel_id, m.user_id, m.last_read_seq
    from unnest(
      ${members.map(({ channelId }) => channelId)}::uuid[],
      ${members.map(({ userId }) => userId)}::text[]
    ) as given (channel_id, user_id)
    join members m
      on m.channel_id = given.channel_id
      and m.user_id = given.user_id
      and m.app_id is not distinct from ${appId}`
  return new Map(rows.map((row) => [memberKey(row), row.lastReadSeq]))
}

type ReactionRef = { messageId: string; emoji: string; userId: string }
export const reactionKey = ({ messageId, emoji, userId }: ReactionRef) =>
  `${messageId} ${emoji} ${userId}`

/**
 * Keys of those of these reactions and pins that are stored, or wait since an earlier batch or run.
 * Waiting ones are checked once, at the end, and not when they are read again.
 */
export async function selectStored(
  db: Tx,
  appId: string,
  { reactions, pins }: { reactions: ReactionRef[]; pins: string[] },
) {
  const stored = await db<ReactionRef[]>`
    select r.message_id, r.emoji, r.user_id
    from unnest(
      ${reactions.map(({ messageId }) => messageId)}::uuid[],
      ${reactions.map(({ emoji }) => emoji)}::text[],
      ${reactions.map(({ userId }) => userId)}::text[]
    ) as given (message_id, emoji, user_id)
    join reactions r
      on r.message_id = given.message_id
      and r.emoji = given.emoji
      and r.user_id = given.user_id
      and r.app_id is not distinct from ${appId}`
  const pinned = await db<{ messageId: string }[]>`
    select p.message_id
    from pins p
    where p.message_id = any(${pins}::uuid[])
      and p.app_id is not distinct from ${appId}`
  const keys = [...reactions.map(reactionKey), ...pins]
  const waiting = await db<{ key: string }[]>`
    select ir.key
    from unnest(
      ${[...reactions.map(() => 'reaction'), ...pins.map(() => 'pin')]}::text[],
      ${keys}::text[]
    ) as given (record, key)
    join imported_rows ir
      on ir.app_id = ${appId}
      and ir.record = given.record
      and ir.key = given.key`
  return new Set([
    ...stored.map(reactionKey),
    ...pinned.map(({ messageId }) => messageId),
    ...waiting.map(({ key }) => key),
  ])
}
