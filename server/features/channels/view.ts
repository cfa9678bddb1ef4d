import type { Channel } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { firstMembers } from '../members/view.ts'
import { selectMessages, toMessage } from '../messages/view.ts'
import { unread } from '../reads.ts'

type Which = { appId: string; viewer: string | null; page: Fragment; withMembers?: boolean }

/**
 * Channels as the viewer sees them, newest activity first, in two statements: the channels with unread counts, then
 * their last messages. `page` says which; it sees channel `c` and the viewer's member row `m`.
 */
export async function selectChannels(db: Tx, which: Which): Promise<Channel[]> {
  const rows = await selectHeads(db, which)
  const ids = rows.flatMap(({ lastMessageId }) => lastMessageId ?? [])
  const last =
    ids.length === 0
      ? []
      : await selectMessages(db, {
          viewer: which.viewer,
          which: db`where m.id = any(${ids}::uuid[])`,
        })
  const lastById = new Map(last.map((view) => [view.id, toMessage(view)]))
  return rows.map((row) => ({
    ...toHead(row),
    lastMessage: (row.lastMessageId && lastById.get(row.lastMessageId)) || null,
  }))
}

/** One channel as somebody sees it who has just joined, without its last message. */
export async function viewForNewcomer(db: Tx, { appId, id }: { appId: string; id: string }) {
  const [row] = await selectHeads(db, { appId, viewer: null, page: db`c.id = ${id}` })
  return row && toHead(row)
}

const selectHeads = (db: Tx, { appId, viewer, page, withMembers = false }: Which) => db<HeadRow[]>`
  select c.id, c.cid, coalesce(c.name, peer.display_name, 'Deleted user') as name, c.type, coalesce(c.image, peer.image) as image, c.description,
    c.workspace_id, c.created_by, c.member_count, case when m.user_id is null then 0 else ${unread(db)} end as unread_count,
    coalesce(m.last_read_seq, 0) as last_read_seq, m.role, coalesce(m.starred, false) as starred, coalesce(m.muted, false) as muted,
    c.rev, c.created_at, c.updated_at,
    (select x.id from messages x where x.channel_id = c.id and x.deleted_at is null order by x.seq desc limit 1) as last_message_id,
    case when ${withMembers} or c.type = 'messaging' then ${firstMembers(db)} end as members
  from (
    select c.* from channels c left join members m on m.channel_id = c.id and m.user_id = ${viewer}
    where c.app_id = ${appId} and c.deleted_at is null and ${page}
  ) c
  left join members m on m.channel_id = c.id and m.user_id = ${viewer}
  left join lateral (${peerOf(db, viewer)}) peer on true
  order by c.last_activity_at desc, c.id desc`

type HeadRow = Omit<Channel, 'lastMessage' | 'members'> & {
  lastMessageId: string | null
  members: Channel['members'] | null
}

const toHead = ({ lastMessageId: _, members, ...row }: HeadRow) => ({
  ...row,
  ...(members ? { members } : {}),
})

/** The other one of direct message `c`. */
export const peerOf = (db: Tx, viewer: string | null) => db`
  select u.display_name, u.image from members p join users u on u.app_id = p.app_id and u.id = p.user_id
  where c.type = 'messaging' and p.channel_id = c.id and p.user_id <> ${viewer} limit 1`
