import type { Message } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { constant } from '../../db/sql.ts'
import { type MessageValues, messageJson } from './message-json.ts'
import { quotedMessage } from './quote-view.ts'
import { reactionsOfMessage } from './reaction-groups.ts'

/**
 * Messages as they go on the wire, with authors, reactions, pins and reply counts, in one
 * statement. `which` ends the statement: it sees message rows `msg`.
 */
export async function selectMessages(
  db: Tx,
  { viewer, which }: { viewer: string | Fragment | null; which: Fragment },
): Promise<Message[]> {
  const rows = await db<MessageValues[]>`
    select ${viewColumns(db, { reactions: reactionsOfMessage(db, viewer) })}
    from messages msg
    ${withAuthor(db)}
    ${which}`.values()
  // Compared with the columns in `sql.test.ts`.
  return (rows as unknown as MessageValues[]).map((row) => JSON.parse(messageJson(row)))
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

/** In the order of MessageValues, of message row `msg` and its `author`. */
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

/** The message for all viewers: clients derive which reactions are their own. */
export const asBroadcast = (message: Message): Message => ({
  ...message,
  reactions: message.reactions.map((reaction) => ({ ...reaction, own: false })),
})
