import type { Channel } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { selectMembers } from '../members/view.ts'
import { selectMessages, toMessage } from '../messages/view.ts'
import { unread } from '../reads.ts'

type Which = { appId: string; viewer: string | null; page: Fragment; withMembers?: boolean }

/**
 * Channels as the viewer sees them, in two statements: the channels with unread counts, then their last messages.
 * `page` says which and in what order; it sees channel `c`, the viewer's member row `m` and the other one `peer` of a
 * direct message. Without a viewer: as somebody sees them who has just joined.
 */
export async function selectChannels(db: Tx, { appId, viewer, page, withMembers = false }: Which): Promise<Channel[]> {
  const rows = await db<ChannelView[]>`
    select c.id, c.cid, c.shown_name as name, c.type, c.shown_image as image, c.description, c.workspace_id, c.created_by, c.member_count,
      case when m.user_id is null then 0 else ${unread(db)} end as unread_count, coalesce(m.last_read_seq, 0) as last_read_seq, m.role,
      coalesce(m.starred, false) as starred, coalesce(m.muted, false) as muted, c.rev, c.created_at, c.updated_at,
      (select x.id from messages x where x.channel_id = c.id and x.deleted_at is null order by x.seq desc limit 1) as last_message_id,
      case when ${withMembers} or c.type = 'messaging' then ${selectMembers(db)} end as members
    from (
      select c.*, coalesce(c.name, peer.display_name, 'Deleted user') as shown_name, coalesce(c.image, peer.image) as shown_image, row_number() over () as place
      from channels c
      left join members m on m.channel_id = c.id and m.user_id = ${viewer}
      left join lateral (
        select u.display_name, u.image from members p join users u on u.app_id = p.app_id and u.id = p.user_id
        where c.type = 'messaging' and p.channel_id = c.id and p.user_id <> ${viewer} limit 1
      ) peer on true
      where c.app_id = ${appId} and c.deleted_at is null and ${page}
    ) c
    left join members m on m.channel_id = c.id and m.user_id = ${viewer}
    order by c.place`
  const ids = rows.flatMap(({ lastMessageId }) => lastMessageId ?? [])
  const last = ids.length === 0 ? [] : await selectMessages(db, { viewer, which: db`where m.id = any(${ids}::uuid[])` })
  const lastById = new Map(last.map((view) => [view.id, toMessage(view)]))
  return rows.map(({ lastMessageId, members, ...row }) => ({
    ...row,
    ...(members ? { members } : {}),
    lastMessage: (lastMessageId && lastById.get(lastMessageId)) || null,
  }))
}

type ChannelView = Omit<Channel, 'lastMessage' | 'members'> & { lastMessageId: string | null; members: Channel['members'] | null }
