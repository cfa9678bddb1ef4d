import { limits, type Message, type QuotedMessage } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { SYSTEM_USER } from '../system-user.ts'
import { userSummary } from '../users/view.ts'
import { quotedMessage, toQuoted } from './quote-view.ts'

/** A message as it is read: without names, since objects of so many columns are slow to make. */
export type MessageRow = [
  id: string,
  channelId: string,
  type: Message['type'] | null,
  userId: string,
  authorName: string,
  authorImage: string | null,
  text: string,
  seq: number,
  rev: number,
  reactions: Message['reactions'] | null,
  mentions: string[],
  attachments: Message['attachments'],
  parentId: string | null,
  replyCount: number,
  clientId: string | null,
  createdAt: string,
  updatedAt: string,
  editedAt: string | null,
  deletedAt: string | null,
  quoted: QuotedMessage | null,
  linkPreviews: NonNullable<Message['linkPreviews']> | null,
  custom: NonNullable<Message['custom']> | null,
  silent: boolean | null,
  streaming: boolean | null,
  interrupted: boolean | null,
  pinnedBy: string | null,
  pinnedAt: string | null,
]

/**
 * Messages as they go on the wire, with authors, reactions, pins and reply counts, in one
 * statement. `which` ends the statement: it sees message rows `msg` and their pins `p`.
 */
export async function selectMessages(
  db: Tx,
  { viewer, which }: { viewer: string | Fragment | null; which: Fragment },
): Promise<Message[]> {
  const rows = await db`
    select ${viewColumns(db)}
    from messages msg
    ${viewTables(db, viewer)}
    ${which}`.values()
  return rows.map((row) => toMessage(row as MessageRow)) // by the columns
}

/** What a view needs beside message rows `msg`. */
export const viewTables = (db: Tx, viewer: string | Fragment | null) => db`
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
  left join pins p on p.message_id = msg.id
  cross join lateral (
    select ${quotedMessage(db)} as quoted, ${reactionsOfMessage(db, viewer)} as reactions
    offset 0 -- measured and answered, but made once
  ) more`

/** In the order of MessageRow. */
export const viewColumns = (db: Tx) => db`
  msg.id, msg.channel_id, msg.type, msg.user_id, author.display_name, author.image, msg.text,
  msg.seq, msg.rev, more.reactions, msg.mentions, msg.attachments, msg.parent_id, msg.reply_count,
  msg.client_id, msg.created_at, msg.updated_at, msg.edited_at, msg.deleted_at, more.quoted,
  msg.link_previews, msg.custom, msg.silent, msg.streaming, msg.interrupted,
  p.pinned_by, p.pinned_at`

/**
 * Whether message row `msg` is not deleted, in the form of the index `messages_live`: for queries
 * that walk through a channel, past any number of tombstones.
 */
export const isLive = (db: Tx) => db`num_nulls(msg.deleted_at) = 1`
/** The same for messages that are no replies either, of which there is an index, too. */
export const isLiveRoot = (db: Tx) => db`num_nulls(msg.deleted_at, msg.parent_id) = 2`

type MessagePosition = { channelId: Fragment; seq: Fragment }

/**
 * The id of the message with this seq, or null: as a range in order, which only the index by seq
 * serves. For an equality, others that begin with the channel seem as good.
 */
export const messageIdAt = (db: Tx, { channelId, seq }: MessagePosition) => db`(
  select msg.id
  from messages msg
  where msg.channel_id = ${channelId}
    and msg.seq >= ${seq}
    and msg.seq <= ${seq}
  order by msg.seq
  limit 1
)`

/** The reactions of message row `msg` as JSON, if any: oldest emoji first, with first users. */
const reactionsOfMessage = (db: Tx, viewer: string | Fragment | null) => db`
  case when exists (
    select
    from reactions
    where message_id = msg.id
  ) then (
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji, 'count', kind.count, 'own', kind.own, 'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        r.emoji,
        count(*),
        coalesce(bool_or(r.user_id = ${viewer}), false) as own,
        min(r.created_at) as first,
        jsonb_agg(${userSummary(db)} order by r.rank)
          filter (where r.rank <= ${limits.reactionUsers}) as users
      from (
        select
          app_id, user_id, emoji, created_at,
          row_number() over (partition by emoji order by created_at, user_id) as rank
        from reactions
        where message_id = msg.id
      ) r
      join users u on u.app_id = r.app_id and u.id = r.user_id
      group by r.emoji
    ) kind
  ) end`

/** Field by field: an object from a rest pattern costs several times as much to make and write. */
export function toMessage([
  id,
  channelId,
  type,
  userId,
  authorName,
  authorImage,
  text,
  seq,
  rev,
  reactions,
  mentions,
  attachments,
  parentId,
  replyCount,
  clientId,
  createdAt,
  updatedAt,
  editedAt,
  deletedAt,
  quoted,
  linkPreviews,
  custom,
  silent,
  streaming,
  interrupted,
  pinnedBy,
  pinnedAt,
]: MessageRow): Message {
  const message: Message = {
    id,
    channelId,
    type: type ?? 'regular',
    userId,
    text,
    seq,
    rev,
    user:
      type === 'system'
        ? { ...SYSTEM_USER, id: userId }
        : { id: userId, name: authorName, image: authorImage },
    reactions: reactions ?? [],
    mentions,
    attachments,
    parentId,
    replyCount,
    pinned: pinnedBy !== null && pinnedAt !== null,
    clientId,
    createdAt,
    updatedAt,
    editedAt,
    deletedAt,
  }
  if (quoted) message.quotedMessage = toQuoted(quoted)
  if (custom) message.custom = custom
  if (silent) message.silent = true
  if (streaming !== null) message.streaming = streaming
  if (interrupted) message.interrupted = true
  if (linkPreviews) message.linkPreviews = linkPreviews
  return message
}

/** Who pinned a message, and when, as it was read. */
export const pinOf = (row: MessageRow) => ({ pinnedBy: row[25], pinnedAt: row[26] })

/** The message for all viewers: clients derive which reactions are their own. */
export const asBroadcast = (message: Message): Message => ({
  ...message,
  reactions: message.reactions.map((reaction) => ({ ...reaction, own: false })),
})
