import type { Channel } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { DELETED_USER_NAME } from '../../db/sql.ts'
import { firstMembers } from '../members/view.ts'
import { isLive, selectMessages, toMessage } from '../messages/view.ts'
import { unread } from '../reads.ts'

type ChannelQuery = { appId: string; viewer: string | null; page: Fragment; withMembers?: boolean }

/**
 * Channels as the viewer sees them, newest activity first, in two statements: the channels with
 * unread counts, then their last messages. `page` is a condition on channel `c` and the viewer's
 * member row `m`, and may end in order and limit.
 */
export async function selectChannels(db: Tx, query: ChannelQuery): Promise<Channel[]> {
  const rows = await selectChannelRows(db, query)
  const lastIds = rows.flatMap(({ lastMessageId }) => lastMessageId ?? [])
  const messages = await selectLastMessages(db, query.viewer, lastIds)
  const byId = new Map(messages.map((message) => [message.id, message]))
  return rows.map((row) => ({
    ...toChannel(row),
    lastMessage: byId.get(row.lastMessageId ?? '') ?? null,
  }))
}

async function selectLastMessages(db: Tx, viewer: string | null, ids: string[]) {
  if (ids.length === 0) return []
  const which = db`where msg.id = any(${ids}::uuid[])`
  return (await selectMessages(db, { viewer, which })).map(toMessage)
}

/** A channel as a user sees it who has just joined, without its last message. */
export async function viewForNewMember(db: Tx, { appId, id }: { appId: string; id: string }) {
  const [row] = await selectChannelRows(db, { appId, viewer: null, page: db`c.id = ${id}` })
  return row && toChannel(row)
}

type ChannelViewRow = Omit<Channel, 'lastMessage' | 'members'> & {
  lastMessageId: string | null
  members: Channel['members'] | null
}

const selectChannelRows = (
  db: Tx,
  { appId, viewer, page, withMembers = false }: ChannelQuery,
) => db<ChannelViewRow[]>`
  select
    c.id, c.cid, c.type,
    coalesce(c.name, peer.display_name, ${DELETED_USER_NAME}) as name,
    coalesce(c.image, peer.image) as image,
    c.description, c.workspace_id, c.created_by, c.member_count,
    case when m.user_id is null then 0 else ${unread(db)} end as unread_count,
    coalesce(m.last_read_seq, 0) as last_read_seq,
    m.role,
    coalesce(m.starred, false) as starred,
    coalesce(m.muted, false) as muted,
    c.rev, c.created_at, c.updated_at,
    (
      select msg.id
      from messages msg
      where msg.channel_id = c.id
        and ${isLive(db)}
      order by msg.seq desc
      limit 1
    ) as last_message_id,
    case when ${withMembers} or c.type = 'messaging' then ${firstMembers(db)} end as members
  from (
    select c.*
    from channels c
    left join members m on m.channel_id = c.id and m.user_id = ${viewer}
    where c.app_id = ${appId}
      and c.deleted_at is null
      and ${page}
  ) c
  left join members m on m.channel_id = c.id and m.user_id = ${viewer}
  left join lateral (${peerOf(db, viewer)}) peer on true
  order by c.last_activity_at desc, c.id desc`

const toChannel = ({ lastMessageId: _, members, ...row }: ChannelViewRow) => ({
  ...row,
  ...(members ? { members } : {}),
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
