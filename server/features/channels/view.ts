import { type Channel, limits } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { DELETED_USER_NAME } from '../../db/sql.ts'
import { timeInJson } from '../../db/value-types.ts'
import { firstMembers } from '../members/view.ts'
import { isLive, selectMessagePage } from '../messages/view.ts'
import { unread, unreadVersion } from '../reads.ts'

type ChannelQuery = {
  appId: string
  viewer: string | null
  page: Fragment
  /** By columns of `page`; by default the newest activity first. */
  order?: Fragment
  withMembers?: boolean
}

/**
 * Channels as the viewer sees them, or the backend, in two statements: the channels with
 * unread counts, then their last messages. `page` is a condition on channel `c` and the viewer's
 * member row `m`, and may end in order and limit. As many as an answer has room for, but at least
 * one; `found` counts all of them, `bytes` those of the answer; `settingsVersion` is the version of
 * all their settings.
 */
export async function selectChannels(db: Tx, query: ChannelQuery) {
  const measured = await selectChannelRows(db, query)
  const rows = measured.map(({ view, bytes }) => ({ ...viewOf(view), bytes }))
  const last = await selectLastMessages(db, query.viewer, rows)
  const messages = new Map(last.messages.map((message) => [message.id, message]))
  const end = last.isCut
    ? rows.findLastIndex(({ lastMessageId }) => messages.has(lastMessageId ?? '')) + 1
    : rows.length
  const channels = rows.slice(0, end).map(
    (row): Channel => ({
      ...toChannel(row),
      lastMessage: messages.get(row.lastMessageId ?? '') ?? null,
    }),
  )
  const bytes = Math.max(last.bytes, rows[end - 1]?.bytes ?? 0)
  const found = measured[0]?.found ?? 0
  return { channels, found, settingsVersion: rows[0]?.settingsVersion ?? 0, bytes }
}

type MeasuredChannel = ChannelView & { bytes: number }

/** The last messages of channels, in their order, as many as there is room for beside these. */
async function selectLastMessages(db: Tx, viewer: string | null, channels: MeasuredChannel[]) {
  const filled = channels.filter(({ lastMessageId }) => lastMessageId !== null)
  if (filled.length === 0) return { messages: [], isCut: false, bytes: 0 }
  const ids = filled.map(({ lastMessageId }) => lastMessageId)
  const bytes = filled.map(({ bytes }) => bytes)
  const rows = db`
    select msg.*, given.bytes as channel_bytes, given.place as channel_place
    from unnest(${ids}::uuid[], ${bytes}::int[])
      with ordinality as given (id, bytes, place)
    join messages msg on msg.id = given.id`
  const page = await selectMessagePage(db, {
    viewer,
    rows,
    order: db`page.channel_place`,
    bytesBefore: db`page.channel_bytes`,
  })
  return { ...page, isCut: page.messages.length < page.found }
}

/** A channel as a user who has just joined sees it, without its last message. */
export async function viewForNewMember(db: Tx, { appId, id }: { appId: string; id: string }) {
  const [row] = await selectChannelRows(db, { appId, viewer: null, page: db`c.id = ${id}` })
  return row && toChannel(viewOf(row.view))
}

/** A channel as it is read: the row has it as one JSON text, like a message of a page. */
type ChannelView = Omit<Channel, 'lastMessage' | 'members'> & {
  lastMessageId: string | null
  members: Channel['members'] | null
  settingsVersion: number
}
type ChannelViewRow = { view: string; found: number; bytes: number }

const selectChannelRows = (
  db: Tx,
  {
    appId,
    viewer,
    page,
    order = db`page.last_activity_at desc, page.id desc`,
    withMembers = false,
  }: ChannelQuery,
) => db<ChannelViewRow[]>`
  select measured.view, measured.found, measured.bytes
  from (
    select
      view.json as view,
      c.found, c.place,
      (sum(octet_length(view.json)) over (order by c.place))::int as bytes
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
      select to_json(view)::text as json
      from (select ${viewColumns(db, { appId, viewer, withMembers })}) view
      offset 0 -- measured and answered, but made once
    ) view
  ) measured
  where measured.bytes <= ${limits.answerBytes} or measured.place = 1
  order by measured.place`

/** Of channel `c`, the viewer's member row `m`, and the other user of a direct message, `peer`. */
const viewColumns = (
  db: Tx,
  { appId, viewer, withMembers }: Pick<ChannelQuery, 'appId' | 'viewer' | 'withMembers'>,
) => db`
  c.id, c.cid, c.type,
  coalesce(c.name, peer.display_name, ${DELETED_USER_NAME}) as name,
  coalesce(c.image, peer.image) as image,
  c.description, c.workspace_id as "workspaceId", c.created_by as "createdBy",
  c.member_count as "memberCount",
  case when m.user_id is null then 0 else ${unread(db)} end as "unreadCount",
  ${unreadVersion(db)} as "unreadVersion",
  coalesce(m.last_read_seq, 0) as "lastReadSeq",
  m.role,
  coalesce(m.starred, false) as starred,
  coalesce(m.muted, false) as muted,
  ${settingsVersion(db, { appId, viewer })} as "settingsVersion",
  c.rev, coalesce(c.frozen, false) as frozen, coalesce(c.custom, '{}') as custom,
  c.created_at as "createdAt", c.updated_at as "updatedAt",
  (
    select msg.id
    from messages msg
    where msg.channel_id = c.id
      and ${isLive(db)}
    order by msg.seq desc
    limit 1
  ) as "lastMessageId",
  case
    when ${withMembers === true} or c.type = 'messaging' then ${firstMembers(db)}
  end as members`

/** The offset of the viewer's topic: the events up to it are in the settings that are read. */
const settingsVersion = (db: Tx, { appId, viewer }: Pick<ChannelQuery, 'appId' | 'viewer'>) => db`
  coalesce((
    select us.last_offset
    from user_streams us
    where us.app_id = ${appId}
      and us.user_id = ${viewer}
  ), 0)`

function viewOf(json: string) {
  const view: ChannelView = JSON.parse(json)
  view.createdAt = timeInJson(view.createdAt)
  view.updatedAt = timeInJson(view.updatedAt)
  return view
}

/** Field by field, like `toMessage`. */
function toChannel(view: ChannelView) {
  const channel: Omit<Channel, 'lastMessage'> = {
    id: view.id,
    cid: view.cid,
    type: view.type,
    name: view.name,
    image: view.image,
    description: view.description,
    workspaceId: view.workspaceId,
    createdBy: view.createdBy,
    memberCount: view.memberCount,
    unreadCount: view.unreadCount,
    unreadVersion: view.unreadVersion,
    lastReadSeq: view.lastReadSeq,
    role: view.role,
    starred: view.starred,
    muted: view.muted,
    rev: view.rev,
    frozen: view.frozen,
    custom: view.custom,
    createdAt: view.createdAt,
    updatedAt: view.updatedAt,
  }
  if (view.members) channel.members = view.members
  return channel
}

/** A channel as it is after events up to `rev` which change no message. */
export const atRev = <C extends Pick<Channel, 'rev' | 'unreadVersion'>>(
  channel: C,
  rev: number,
): C => ({
  ...channel,
  rev,
  unreadVersion: channel.unreadVersion + rev - channel.rev,
})

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
