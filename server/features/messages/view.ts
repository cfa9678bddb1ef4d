import { limits, type Message } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { constant } from '../../db/sql.ts'
import { userSummary } from '../users/view.ts'
import { type MessageRow, messageJson } from './message-json.ts'
import { quotedMessage } from './quote-view.ts'

/**
 * Messages as they go on the wire, with authors, reactions, pins and reply counts, in one
 * statement. `which` ends the statement: it sees message rows `msg`.
 */
export async function selectMessages(
  db: Tx,
  { viewer, which }: { viewer: string | Fragment | null; which: Fragment },
): Promise<Message[]> {
  const rows = await db`
    select ${viewColumns(db, { reactions: reactionsOfMessage(db, viewer) })}
    from messages msg
    ${withAuthor(db)}
    ${which}`.values()
  return rows.map((row) => JSON.parse(messageJson(row as MessageRow))) // by the columns
}

/** The `author` of message row `msg`. */
export const withAuthor = constant(
  (db) => db`
  join users author on author.app_id = msg.app_id and author.id = msg.user_id`,
)

type Viewed = {
  /** The reactions as JSON. */
  reactions: Fragment
  /** The channel that all messages are in, if there is one. */
  channelId?: string | undefined
}

/** In the order of MessageRow, of message row `msg` and its `author`. */
export const viewColumns = (db: Tx, { reactions, channelId }: Viewed) => db`
  msg.id, ${channelId === undefined ? ownChannel(db) : noChannel(db)}, msg.type,
  msg.user_id, author.display_name, author.image,
  msg.text, msg.seq, msg.rev,
  ${reactions}::text,
  to_json(nullif(msg.mentions, '{}'))::text,
  nullif(msg.attachments, '[]')::text,
  msg.parent_id, nullif(msg.reply_count, 0),
  ${channelId === undefined ? isPinned(db) : db`${hasPins(db, channelId)} and ${isPinned(db)}`},
  ${plainColumns(db)}`

const ownChannel = constant((db) => db`msg.channel_id`)
const noChannel = constant((db) => db`null`)

/** Not `exists`, for which PostgreSQL may read all pins if there were few when it made its plan. */
const isPinned = constant(
  (db) => db`
  coalesce((
    select true
    from pins
    where message_id = msg.id
    limit 1
  ), false)`,
)

/** The last columns, which depend on no viewer. */
const plainColumns = constant(
  (db) => db`
  msg.client_id,
  msg.created_at, nullif(msg.updated_at, msg.created_at), msg.edited_at, msg.deleted_at,
  (${quotedMessage(db)})::text,
  msg.link_previews::text, msg.custom::text,
  msg.silent, msg.streaming, msg.interrupted`,
)

/** Asked once for a page, because most channels have no pins. */
const hasPins = (db: Tx, channelId: string) => db`
  (
    select exists (
      select
      from pins
      where channel_id = ${channelId}
    )
  )`

/**
 * Whether message row `msg` is not deleted, in the form of the index `messages_live`: for queries
 * that walk through a channel, past any number of tombstones.
 */
export const isLive = constant((db) => db`num_nulls(msg.deleted_at) = 1`)
/** The same for messages that are no replies either, of which there is an index, too. */
export const isLiveRoot = constant((db) => db`num_nulls(msg.deleted_at, msg.parent_id) = 2`)

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
export const reactionsOfMessage = (db: Tx, viewer: string | Fragment | null) => db`
  case when (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
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
        jsonb_agg(${reactingUser(db)} order by r.rank)
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

const reactingUser = constant((db) => userSummary(db))

/** The message for all viewers: clients derive which reactions are their own. */
export const asBroadcast = (message: Message): Message => ({
  ...message,
  reactions: message.reactions.map((reaction) => ({ ...reaction, own: false })),
})
