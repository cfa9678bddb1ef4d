import { limits, type Message } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { withCustom } from '../custom.ts'
import { SYSTEM_USER } from '../system-user.ts'
import { userSummary } from '../users/view.ts'

/** A message as it is read; the last two columns are null where it is not pinned. */
type OptionalField = 'linkPreviews' | 'custom' | 'silent' | 'streaming' | 'interrupted'
type MessageView = Omit<Message, OptionalField | 'pinned'> & {
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
/** `found` counts the messages of the page, `bytes` those of the answer up to this one. */
type PageRow = MessageView & { found: number; place: number; bytes: number; bytesBefore: number }

/**
 * The first messages of a page: as many as an answer has room for, but at least one, and how many
 * the page has.
 */
export async function selectMessagePage(db: Tx, query: PageQuery) {
  const views = await selectMessageViews(db, query)
  const messages = views.map(({ found, place, bytes, bytesBefore, ...view }) => toMessage(view))
  return { messages, found: views[0]?.found ?? 0, bytes: views.at(-1)?.bytes ?? 0 }
}

/** The same as rows. What users wrote is measured before anything else is read. */
export const selectMessageViews = (
  db: Tx,
  { viewer, rows, order, bytesBefore = db`0` }: PageQuery,
) => db<PageRow[]>`
  select measured.*
  from (
    select
      view.*,
      msg.found, msg.place, msg.bytes_before,
      (msg.bytes_before + sum(octet_length(to_json(view)::text)) over (order by msg.place))::int
        as bytes
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
      select ${viewColumns(db, viewer)}
      offset 0 -- measured and answered, but read once
    ) view
    where msg.content_bytes <= ${limits.answerBytes} or msg.place = 1
  ) measured
  where measured.bytes <= ${limits.answerBytes} or measured.place = 1
  order by measured.place, measured.seq`

const withAuthorAndPin = (db: Tx) => db`
  join users author on author.app_id = msg.app_id and author.id = msg.user_id
  left join pins p on p.message_id = msg.id`

const summaryOfSystem = (db: Tx) =>
  db`jsonb_build_object('id', msg.user_id, 'name', ${SYSTEM_USER.name}::text, 'image', null)`

const viewColumns = (db: Tx, viewer: string | Fragment | null) => db`
  msg.id, msg.channel_id, msg.user_id, msg.seq, msg.rev,
  coalesce(msg.type, 'regular') as type, msg.silent, msg.streaming, msg.interrupted,
  msg.text, msg.mentions, msg.attachments, msg.link_previews, msg.custom,
  msg.parent_id, msg.reply_count, msg.client_id,
  msg.created_at, msg.updated_at, msg.edited_at, msg.deleted_at,
  p.pinned_by, p.pinned_at,
  case
    when msg.type = 'system' then ${summaryOfSystem(db)}
    else ${userSummary(db, db`author`)}
  end as "user",
  ${reactionsOfMessage(db, viewer)} as reactions`

/**
 * Whether message row `msg` is not deleted, in the form of the index `messages_live`: for queries
 * that walk through a channel, past any number of tombstones.
 */
export const isLive = (db: Tx) => db`num_nulls(msg.deleted_at) = 1`

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
  coalesce((
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
  ), '[]')`

export const toMessage = ({
  pinnedBy,
  pinnedAt,
  linkPreviews,
  custom,
  silent,
  streaming,
  interrupted,
  ...view
}: MessageView): Message => ({
  ...view,
  ...withCustom(custom),
  ...(silent ? { silent: true as const } : {}),
  ...(streaming === null ? {} : { streaming }),
  ...(interrupted ? { interrupted: true as const } : {}),
  pinned: pinnedBy !== null && pinnedAt !== null,
  ...(linkPreviews ? { linkPreviews } : {}),
})

/** The message for all viewers: clients derive which reactions are their own. */
export const asBroadcast = (message: Message): Message => ({
  ...message,
  reactions: message.reactions.map((reaction) => ({ ...reaction, own: false })),
})
