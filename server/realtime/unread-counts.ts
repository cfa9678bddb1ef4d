import type { UserRef } from '../core/user-ref.ts'
import type { Tx } from '../db/client.ts'
import { isLargeChannelRow } from '../features/access.ts'
import { unread, unreadVersion } from '../features/reads.ts'

export type UnreadCount = UserRef & { channelId: string; count: number; version: number }

/** The counts of these channels' members on this node. Large livestreams are left out. */
export const selectCountsOfChannels = (
  db: Tx,
  { nodeId, channelIds }: { nodeId: string; channelIds: string[] },
) => db<UnreadCount[]>`
  select
    m.app_id, m.user_id, m.channel_id,
    ${unread(db)} as count, ${unreadVersion(db)} as version
  from channels c
  join members m on m.channel_id = c.id
  join connections con
    on con.node_id = ${nodeId} and con.app_id = m.app_id and con.user_id = m.user_id
  where c.id = any(${channelIds}::uuid[])
    and c.deleted_at is null
    and not (c.type = 'livestream' and ${isLargeChannelRow(db)})`

/** `isRecent`: the member has read within the given time. */
export type CheckedCount = UnreadCount & { isRecent: boolean }

/** The counts of these users in all their channels. */
export const selectCountsOfUsers = (
  db: Tx,
  { users, readWithinSeconds = 0 }: { users: UserRef[]; readWithinSeconds?: number },
) => {
  const appIds = users.map(({ appId }) => appId)
  const userIds = users.map(({ userId }) => userId)
  return db<CheckedCount[]>`
    select
      m.app_id, m.user_id, m.channel_id,
      ${unread(db)} as count, ${unreadVersion(db)} as version,
      exists (
        select
        from read_marks rm
        where rm.channel_id = m.channel_id
          and rm.user_id = m.user_id
          and rm.seq = m.last_read_seq
          and rm.read_at > now() - ${readWithinSeconds} * interval '1 second'
      ) as is_recent
    from unnest(${appIds}::uuid[], ${userIds}::text[]) as given (app_id, user_id)
    join members m on m.app_id = given.app_id and m.user_id = given.user_id
    join channels c on c.id = m.channel_id and c.deleted_at is null`
}
