import { type Channel, limits } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { DELETED_USER_NAME } from '../../db/sql.ts'
import { firstMembers } from '../members/view.ts'
import { selectMessagePage } from '../messages/page.ts'
import { isLive } from '../messages/view.ts'
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
  const read = measure(rows)
  const last = await selectLastMessages(db, query.viewer, read)
  const shown: ShownChannel[] = []
  let bytes = 0
  for (const { channel, json, lastMessageId, bytes: channelBytes } of read) {
    const found = last.messages.get(lastMessageId ?? '')
    if (last.isCut && lastMessageId !== null && !found) break
    shown.push({
      channel: { ...channel, lastMessage: found?.message ?? null },
      json: `${json.slice(0, -1)},"lastMessage":${found?.json ?? null}}`,
    })
    bytes = Math.max(channelBytes, last.bytes)
  }
  const [, found = 0, , settingsVersion = 0] = rows[0] ?? []
  return { shown, channels: shown.map(({ channel }) => channel), found, settingsVersion, bytes }
}

/** A channel, and its JSON. */
type ShownChannel = { channel: Channel; json: string }
type MeasuredChannel = {
  channel: Omit<Channel, 'lastMessage'>
  json: string
  lastMessageId: string | null
  /** The size of the answer up to it, without last messages. */
  bytes: number
}

/** What an answer says of a channel beside it, at most. */
const AROUND_BYTES = 100

/** As many channels as an answer has room for, but at least one. */
function measure(rows: ChannelViewRow[]): MeasuredChannel[] {
  const measured: MeasuredChannel[] = []
  let bytes = 0
  for (const [, , lastMessageId, , ...row] of rows) {
    const channel = toChannel(row)
    const json = JSON.stringify(channel)
    bytes += Buffer.byteLength(json) + AROUND_BYTES
    if (measured.length > 0 && bytes > limits.answerBytes) break
    measured.push({ channel, json, lastMessageId, bytes })
  }
  return measured
}

/** The last messages of channels, in their order, as many as there is room for beside these. */
async function selectLastMessages(db: Tx, viewer: string | null, channels: MeasuredChannel[]) {
  const filled = channels.filter(({ lastMessageId }) => lastMessageId !== null)
  if (filled.length === 0) return { messages: new Map<string, never>(), isCut: false, bytes: 0 }
  const ids = filled.map(({ lastMessageId }) => lastMessageId)
  const rows = db`
    select msg.*, given.place as channel_place
    from unnest(${ids}::uuid[])
      with ordinality as given (id, place)
    join messages msg on msg.id = given.id`
  const { shown, found, bytes } = await selectMessagePage(db, {
    viewer,
    rows,
    order: db`page.channel_place`,
    bytesBefore: (place) => filled[place - 1]?.bytes ?? 0,
  })
  const messages = new Map(shown.map((one) => [one.message.id, one]))
  return { messages, isCut: shown.length < found, bytes }
}

/** A channel as a user who has just joined sees it, without its last message. */
export async function viewForNewMember(db: Tx, { appId, id }: { appId: string; id: string }) {
  const rows = await selectChannelRows(db, { appId, viewer: null, page: db`c.id = ${id}` })
  return measure(rows)[0]?.channel
}

/** A channel as it is read: without names, like a message. */
type ChannelViewRow = [
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

async function selectChannelRows(
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
function toChannel([
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
