import { limits, type Message, type QuotedMessage } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { timeInJson } from '../../db/value-types.ts'
import { SYSTEM_USER } from '../system-user.ts'
import { publicFields, userSummary } from '../users/view.ts'
import { quotedMessage, toQuoted } from './quote-view.ts'

/** A message as it is read; the last two columns are null where it is not pinned. */
type OptionalField =
  | 'quotedMessage'
  | 'linkPreviews'
  | 'custom'
  | 'silent'
  | 'streaming'
  | 'interrupted'
type MessageView = Omit<Message, OptionalField | 'pinned'> & {
  quotedMessage: QuotedMessage | null
  linkPreviews: Message['linkPreviews'] | null
  custom: NonNullable<Message['custom']> | null
  silent: boolean | null
  streaming: boolean | null
  interrupted: boolean | null
  pinnedBy: string | null
  pinnedAt: string | null
}

/**
 * Messages as they go on the wire, with authors, reactions, pins and reply counts, in one
 * statement. `which` ends the statement: it sees message rows `msg` and their pins `p`.
 */
export const selectMessages = (
  db: Tx,
  { viewer, which }: { viewer: string | Fragment | null; which: Fragment },
) => db<MessageView[]>`
  select ${viewColumns(db, viewer)}
  from messages msg
  ${withAuthorAndPin(db)}
  ${which}`

type PageQuery = {
  viewer: string | null
  /** Selects message rows `msg`; it may end in order and limit. */
  rows: Fragment
  /** Their order, by columns of `page`. Messages that compare as equal stay together. */
  order: Fragment
  /** How many bytes the answer has before each message, by columns of `page`. */
  bytesBefore?: Fragment
}
/**
 * `found` counts the messages of the page, `bytes` those of the answer up to this one. The message
 * is one JSON text: it was made to be measured, and is quicker to read than two dozen columns.
 */
type PageRow = { view: string; found: number; bytes: number }

/**
 * The first messages of a page: as many as an answer has room for, but at least one, and how many
 * the page has.
 */
export async function selectMessagePage(db: Tx, query: PageQuery) {
  const { views, ...page } = await selectMessageViews(db, query)
  return { messages: views.map(toMessage), ...page }
}

/** The same as they were read. */
export async function selectMessageViews(db: Tx, query: PageQuery) {
  const rows = await selectPageRows(db, query)
  const views = rows.map(({ view }) => viewOf(view))
  return { views, found: rows[0]?.found ?? 0, bytes: rows.at(-1)?.bytes ?? 0 }
}

/** What users wrote is measured before anything else is read. */
const selectPageRows = (db: Tx, { viewer, rows, order, bytesBefore = db`0` }: PageQuery) => db<
  PageRow[]
>`
  select measured.view, measured.found, measured.bytes
  from (
    select
      view.json as view,
      msg.seq, msg.found, msg.place,
      (msg.bytes_before + sum(octet_length(view.json)) over (order by msg.place))::int as bytes
    from (
      select
        page.*,
        ${bytesBefore} as bytes_before,
        (count(*) over ())::int as found,
        (rank() over (order by ${order}))::int as place,
        sum(
          octet_length(page.text)
          + octet_length(page.attachments::text)
          + coalesce(octet_length(page.link_previews::text), 0)
          + coalesce(octet_length(page.custom::text), 0)
        ) over (order by ${order}) as content_bytes
      from (${rows}) page
    ) msg
    ${withAuthorAndPin(db)}
    cross join lateral (
      select to_json(view)::text as json
      from (select ${viewColumns(db, viewer)}) view
      offset 0 -- measured and answered, but made once
    ) view
    where msg.content_bytes <= ${limits.answerBytes} or msg.place = 1
  ) measured
  where measured.bytes <= ${limits.answerBytes} or measured.place = 1
  order by measured.place, measured.seq`

const withAuthorAndPin = (db: Tx) => db`
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
  left join pins p on p.message_id = msg.id`

const summaryOfSystem = (db: Tx) =>
  db`json_build_object('id', msg.user_id, 'name', ${SYSTEM_USER.name}::text, 'image', null)`

const summaryOfAuthor = (db: Tx) =>
  db`json_build_object('id', author.id, ${publicFields(db, db`author`)})`

const viewColumns = (db: Tx, viewer: string | Fragment | null) => db`
  msg.id, msg.channel_id as "channelId", msg.user_id as "userId", msg.seq, msg.rev,
  coalesce(msg.type, 'regular') as type, msg.silent, msg.streaming, msg.interrupted,
  msg.text, msg.mentions, msg.attachments, msg.link_previews as "linkPreviews", msg.custom,
  msg.parent_id as "parentId", msg.reply_count as "replyCount", msg.client_id as "clientId",
  msg.created_at as "createdAt", msg.updated_at as "updatedAt",
  msg.edited_at as "editedAt", msg.deleted_at as "deletedAt",
  p.pinned_by as "pinnedBy", p.pinned_at as "pinnedAt",
  case
    when msg.type = 'system' then ${summaryOfSystem(db)}
    else ${summaryOfAuthor(db)}
  end as "user",
  ${quotedMessage(db)} as "quotedMessage",
  ${reactionsOfMessage(db, viewer)} as reactions`

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

/** The reactions of message row `msg` as JSON: oldest emoji first, each with its first users. */
const reactionsOfMessage = (db: Tx, viewer: string | Fragment | null) => db`
  case when exists (
    select
    from reactions
    where message_id = msg.id
  ) then coalesce((
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
  ), '[]')
  else '[]' end`

/** A message as it was read, from its JSON. */
function viewOf(json: string) {
  const view: MessageView = JSON.parse(json)
  view.createdAt = timeInJson(view.createdAt)
  view.updatedAt = timeInJson(view.updatedAt)
  view.editedAt = view.editedAt && timeInJson(view.editedAt)
  view.deletedAt = view.deletedAt && timeInJson(view.deletedAt)
  view.pinnedAt = view.pinnedAt && timeInJson(view.pinnedAt)
  return view
}

/** Field by field: an object from a rest pattern costs several times as much to make and write. */
export function toMessage(view: MessageView): Message {
  const message: Message = {
    id: view.id,
    channelId: view.channelId,
    type: view.type,
    userId: view.userId,
    text: view.text,
    seq: view.seq,
    rev: view.rev,
    user: view.user,
    reactions: view.reactions,
    mentions: view.mentions,
    attachments: view.attachments,
    parentId: view.parentId,
    replyCount: view.replyCount,
    pinned: view.pinnedBy !== null && view.pinnedAt !== null,
    clientId: view.clientId,
    createdAt: view.createdAt,
    updatedAt: view.updatedAt,
    editedAt: view.editedAt,
    deletedAt: view.deletedAt,
  }
  if (view.quotedMessage) message.quotedMessage = toQuoted(view.quotedMessage)
  if (view.custom) message.custom = view.custom
  if (view.silent) message.silent = true
  if (view.streaming !== null) message.streaming = view.streaming
  if (view.interrupted) message.interrupted = true
  if (view.linkPreviews) message.linkPreviews = view.linkPreviews
  return message
}

/** The message for all viewers: clients derive which reactions are their own. */
export const asBroadcast = (message: Message): Message => ({
  ...message,
  reactions: message.reactions.map((reaction) => ({ ...reaction, own: false })),
})
