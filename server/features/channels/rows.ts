import { type Channel, limits } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { DELETED_USER_NAME } from '../../db/sql.ts'
import { firstMembers } from '../members/view.ts'
import { isLive } from '../messages/view.ts'
import { unread, unreadVersion } from '../reads.ts'

export type ChannelQuery = {
  appId: string
  viewer: string | null
  page: Fragment
  /** By columns of `page`; by default the newest activity first. */
  order?: Fragment
  withMembers?: boolean
}

/** A channel as it is read: without names, like a message. */
export type ChannelViewRow = [
  place: number,
  found: number,
  lastMessageId: string | null,
  settingsVersion: number,
  ...view: ChannelView,
]
type ChannelView = [
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
  custom: Channel['custom'],
  createdAt: string,
  updatedAt: string,
  members: NonNullable<Channel['members']> | null,
]

export async function selectChannelRows(
  db: Tx,
  {
    appId,
    viewer,
    page,
    order = db`page.last_activity_at desc, page.id desc`,
    withMembers = false,
  }: ChannelQuery,
) {
  const rows = await db`
  select measured.*
  from (
    select
      c.place, c.found,
      ${viewColumns(db, { appId, viewer })},
      more.members,
      sum(
        coalesce(octet_length(c.custom::text), 0)
        + coalesce(octet_length(c.description), 0)
        + coalesce(octet_length(more.members::text), 0)
      ) over (order by c.place) as bytes
    from (
      select
        page.*,
        (count(*) over ())::int as found,
        (row_number() over (order by ${order}))::int as place
      from (
        select c.*
        from channels c
        left join members m on m.channel_id = c.id and m.user_id = ${viewer}
        where c.app_id is not distinct from ${appId}
          and num_nulls(c.deleted_at) = 1
          and ${page}
      ) page
    ) c
    left join members m on m.channel_id = c.id and m.user_id = ${viewer}
    left join lateral (${viewer === null ? pairOf(db) : peerOf(db, viewer)}) peer on true
    cross join lateral (
      select
        case
          when ${withMembers === true} or c.type = 'messaging' then ${firstMembers(db)}
        end as members
      offset 0 -- measured and answered, but made once
    ) more
  ) measured
  where measured.bytes <= ${limits.answerBytes} or measured.place = 1
  order by measured.place`.values()
  return rows as unknown as ChannelViewRow[] // by the columns
}

/** Of channel `c`, the viewer's member row `m`, and the other user of a direct message, `peer`. */
const viewColumns = (db: Tx, { appId, viewer }: Pick<ChannelQuery, 'appId' | 'viewer'>) => db`
  (
    select msg.id
    from messages msg
    where msg.channel_id = c.id
      and ${isLive(db)}
    order by msg.seq desc
    limit 1
  ) as last_message_id,
  ${settingsVersion(db, { appId, viewer })} as settings_version,
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
  coalesce(c.custom, '{}') as custom,
  c.created_at, c.updated_at`

/** The offset of the viewer's topic: the events up to it are in the settings that are read. */
const settingsVersion = (db: Tx, { appId, viewer }: Pick<ChannelQuery, 'appId' | 'viewer'>) => db`
  coalesce((
    select us.last_offset
    from user_streams us
    where us.app_id = ${appId}
      and us.user_id = ${viewer}
  ), 0)`

/** Field by field, like `toMessage`. */
export function toChannel([
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
]: ChannelView) {
  const channel: Omit<Channel, 'lastMessage'> = {
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
  }
  if (members) channel.members = members
  return channel
}

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
