import { type Channel, limits } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { constant, DELETED_USER_NAME } from '../../db/sql.ts'
import { firstMembers } from '../members/view.ts'
import { type MessageValues, quote } from '../messages/message-json.ts'
import { contentBytes } from '../messages/page.ts'
import { reactionsOfMessage } from '../messages/reaction-groups.ts'
import { isLive, viewColumns } from '../messages/view.ts'
import { unread, unreadVersion } from '../reads.ts'

export type ChannelQuery = {
  appId: string
  viewer: string | null
  /** A condition on channel `c` and the viewer's member row `m`; it may end in order and limit. */
  page: Fragment
  /** The order, by columns of `c`; by default the newest activity first. */
  order?: Fragment
  includesMembers?: boolean
}

/**
 * A channel as read from the database, to be written as JSON, with its last message: like a
 * message.
 */
type ChannelViewRow = [
  ordinal: number,
  hasNext: true | null,
  settingsVersion: number,
  ...channel: ChannelView,
  /** Null in all columns if there is none. */
  ...lastMessage: MessageValues,
  /** The size of the rows up to this one. */
  bytes: string,
]
export type ChannelView = [
  id: string,
  cid: string,
  type: Channel['type'],
  name: string,
  image: string | null,
  description: string | null,
  workspaceId: string | null,
  createdBy: string,
  memberCount: number,
  unreadCount: number,
  unreadVersion: number,
  lastReadSeq: number,
  role: Channel['role'],
  starred: boolean,
  muted: boolean,
  rev: number,
  frozen: boolean,
  custom: string | null,
  createdAt: string,
  /** Null: the same as `createdAt`. */
  updatedAt: string | null,
  members: string | null,
]

/** Measures what users wrote before it is answered, as with messages. */
export async function selectChannelRows(
  db: Tx,
  { appId, viewer, page, order = newestFirst(db), includesMembers = false }: ChannelQuery,
) {
  const rows = await db<ChannelViewRow[]>`
    select measured.*
    from (
      select
        (row_number() over page)::int as ordinal,
        lead(true) over page as has_next,
        ${settingsVersion(db, { appId, viewer })},
        ${channelColumns(db)},
        more.members,
        ${viewColumns(db, { reactions: readReactions(db) })},
        sum(
          coalesce(octet_length(c.custom::text), 0)
          + coalesce(octet_length(c.description), 0)
          + coalesce(octet_length(more.members), 0)
          + coalesce(octet_length(more.reactions), 0)
          + coalesce(${contentBytes(db)}, 0)
        ) over page as bytes
      from (
        select
          c.*,
          m.user_id as member_id, m.role as member_role, m.last_read_seq, m.unread_after_seq,
          m.starred, m.muted
        from channels c
        left join members m on m.channel_id = c.id and m.user_id = ${viewer}
        where c.app_id is not distinct from ${appId}
          and num_nulls(c.deleted_at) = 1
          and ${page}
      ) c
      cross join lateral (
        select
          c.member_id as user_id, c.member_role as role, c.last_read_seq, c.unread_after_seq,
          c.starred, c.muted
      ) m
      left join lateral (${viewer === null ? pairOf(db) : peerOf(db, viewer)}) peer on true
      left join lateral (
        select msg.*
        from messages msg
        where msg.channel_id = c.id
          and ${isLive(db)}
        order by msg.seq desc
        limit 1
      ) msg on true
      left join users author on author.app_id = msg.app_id and author.id = msg.user_id
      cross join lateral (
        select
          case
            when ${includesMembers} or c.type = 'messaging' then ${firstMembers(db)}::text
          end as members,
          ${reactionsOfMessage(db, viewer)}::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by ${order})
    ) measured
    where measured.bytes <= ${limits.answerBytes} or measured.ordinal = 1
    order by measured.ordinal`.values()
  return rows as unknown as ChannelViewRow[] // compared with the columns in sql.test.ts
}

const newestFirst = constant((db) => db`c.last_activity_at desc, c.id desc`)
const readReactions = constant((db) => db`more.reactions`)

/** The columns of channel `c`: `m` is the viewer's member row, `peer` the other user of a DM. */
const channelColumns = constant(
  (db) => db`
    c.id, c.cid, c.type,
    coalesce(c.name, peer.display_name, ${DELETED_USER_NAME}) as name,
    coalesce(c.image, peer.image) as image,
    c.description, c.workspace_id, c.created_by, c.member_count,
    case when m.user_id is null then 0 else ${unread(db)} end as unread_count,
    ${unreadVersion(db)} as unread_version,
    coalesce(m.last_read_seq, 0) as last_read_seq,
    m.role,
    coalesce(m.starred, false) as starred,
    coalesce(m.muted, false) as muted,
    c.rev,
    coalesce(c.frozen, false) as frozen,
    c.custom::text,
    c.created_at, nullif(c.updated_at, c.created_at)`,
)

/** The channel as JSON, field by field, like `messageJson`; `lastMessage` is JSON as well. */
export function channelJson(
  [
    id,
    cid,
    type,
    name,
    image,
    description,
    workspaceId,
    createdBy,
    memberCount,
    unreadCount,
    unreadVersion,
    lastReadSeq,
    role,
    starred,
    muted,
    rev,
    frozen,
    custom,
    createdAt,
    updatedAt,
    members,
  ]: ChannelView,
  lastMessage: string,
) {
  return [
    '{"id":"',
    id,
    '","cid":',
    JSON.stringify(cid),
    ',"type":"',
    type,
    '","name":',
    JSON.stringify(name),
    ',"image":',
    JSON.stringify(image),
    ',"description":',
    JSON.stringify(description),
    ',"workspaceId":',
    quote(workspaceId),
    ',"createdBy":',
    JSON.stringify(createdBy),
    ',"memberCount":',
    memberCount,
    ',"unreadCount":',
    unreadCount,
    ',"unreadVersion":',
    unreadVersion,
    ',"lastReadSeq":',
    lastReadSeq,
    ',"role":',
    quote(role),
    ',"starred":',
    starred,
    ',"muted":',
    muted,
    ',"rev":',
    rev,
    ',"frozen":',
    frozen,
    ',"custom":',
    custom ?? '{}',
    ',"createdAt":"',
    createdAt,
    '","updatedAt":"',
    updatedAt ?? createdAt,
    members === null ? '"' : `","members":${members}`,
    ',"lastMessage":',
    lastMessage,
    '}',
  ].join('')
}

/** The offset of the viewer's topic: the settings that are read include all events up to it. */
const settingsVersion = (db: Tx, { appId, viewer }: Pick<ChannelQuery, 'appId' | 'viewer'>) => db`
  coalesce((
    select us.last_offset
    from user_streams us
    where us.app_id = ${appId}
      and us.user_id = ${viewer}
  ), 0)`

/** The other user of direct message `c`. */
export const peerOf = (db: Tx, viewer: string | null) => db`
  select u.display_name, u.image
  from members other
  join users u on u.app_id = other.app_id and u.id = other.user_id
  where c.type = 'messaging'
    and other.channel_id = c.id
    and other.user_id <> ${viewer}
  limit 1`

/** Both users of direct message `c`, as the backend sees it. */
const pairOf = (db: Tx) => db`
  select
    string_agg(u.display_name, ', ' order by u.id) as display_name,
    null::text as image
  from members other
  join users u on u.app_id = other.app_id and u.id = other.user_id
  where c.type = 'messaging'
    and other.channel_id = c.id`
