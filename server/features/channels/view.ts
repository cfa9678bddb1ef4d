import { type Channel, limits } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { DELETED_USER_NAME } from '../../db/sql.ts'
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
  const rows = await selectChannelRows(db, query)
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
  const { found = 0, settingsVersion = 0 } = rows[0] ?? {}
  return { channels, found, settingsVersion, bytes }
}

/** The last messages of channels, in their order, as many as there is room for beside these. */
async function selectLastMessages(db: Tx, viewer: string | null, channels: ChannelViewRow[]) {
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
  return row && toChannel(row)
}

type ChannelViewRow = Omit<Channel, 'lastMessage' | 'members'> & {
  lastMessageId: string | null
  members: Channel['members'] | null
  settingsVersion: number
  found: number
  place: number
  bytes: number
}

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
  select measured.*
  from (
    select
      view.*,
      (sum(octet_length(to_json(view)::text)) over (order by view.place))::int as bytes
    from (
      select
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
        ${settingsVersion(db, { appId, viewer })} as settings_version,
        c.rev, coalesce(c.frozen, false) as frozen, coalesce(c.custom, '{}') as custom,
        c.created_at, c.updated_at,
        (
          select msg.id
          from messages msg
          where msg.channel_id = c.id
            and ${isLive(db)}
          order by msg.seq desc
          limit 1
        ) as last_message_id,
        case
          when ${withMembers} or c.type = 'messaging' then ${firstMembers(db)}
        end as members,
        c.found, c.place
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
    ) view
  ) measured
  where measured.bytes <= ${limits.answerBytes} or measured.place = 1
  order by measured.place`

/** The offset of the viewer's topic: the events up to it are in the settings that are read. */
const settingsVersion = (db: Tx, { appId, viewer }: Pick<ChannelQuery, 'appId' | 'viewer'>) => db`
  coalesce((
    select us.last_offset
    from user_streams us
    where us.app_id = ${appId}
      and us.user_id = ${viewer}
  ), 0)`

const toChannel = ({
  lastMessageId,
  members,
  settingsVersion,
  found,
  place,
  bytes,
  ...row
}: ChannelViewRow) => ({
  ...row,
  ...(members ? { members } : {}),
})

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
