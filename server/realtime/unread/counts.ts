import type { UserRef } from '../../core/user-ref.ts'
import type { Tx } from '../../db/client.ts'
import { snapshotNumber } from '../../db/sql.ts'
import { onNode, sizeOf } from '../../features/connected.ts'
import { unread, unreadVersion, type VersionedCount } from '../../features/reads.ts'
import { nodesOf } from '../fanout/reach.ts'

export type UnreadCount = UserRef & VersionedCount & { channelId: string }

/** A count, and a node that its user is connected to. */
export type ConnectedCount = UnreadCount & { nodeId: string }

/** `nodeId`: null means all nodes. */
type CountedChannels = { nodeId: string | null; channelIds: string[] }

/**
 * The counts of these channels' members who are connected, to any node or to the given one. Members
 * are found by the channel; or by the connections, if the channel is large and has more members
 * than its app has connected users. So a message costs no more than those users.
 */
export function selectCountsOfChannels(db: Tx, { nodeId, channelIds }: CountedChannels) {
  return db<ConnectedCount[]>`
    select
      m.node_id, m.app_id, m.user_id, m.channel_id,
      ${unread(db)} as count, ${unreadVersion(db)} as version,
      ${snapshotNumber(db)} as snapshot
    from channels c
    cross join lateral ${sizeOf(db, nodeId)} size
    cross join lateral (
      select con.node_id, m.*
      from members m
      cross join lateral ${nodesOf(db, db`m`, nodeId)} con
      where m.channel_id = c.id
        and not size.is_large
      union all
      select con.node_id, m.*
      from connections con
      cross join lateral (
        select *
        from members
        where channel_id = c.id
          and user_id = con.user_id
        limit 1
      ) m
      where con.app_id = c.app_id
        ${onNode(db, nodeId)}
        and size.is_large
    ) m
    where c.id = any(${channelIds}::uuid[])
      and num_nulls(c.deleted_at) = 1`
}

/** `readWithinSeconds`: 0 by default. */
type CountedUsers = { users: UserRef[]; readWithinSeconds?: number }

/** `isRecent`: the member has read within the given time. */
export type CheckedCount = UnreadCount & { isRecent: boolean }

/**
 * The counts of these users in all their channels. Each is found by its keys, one after the other:
 * without statistics a join would read all channels of the service, and for each of them these
 * users. If there are no counts, one row without a user carries the snapshot.
 */
export const selectCountsOfUsers = (db: Tx, { users, readWithinSeconds = 0 }: CountedUsers) => {
  const appIds = users.map(({ appId }) => appId)
  const userIds = users.map(({ userId }) => userId)
  return db<CheckedCount[]>`
    select
      m.app_id, m.user_id, m.channel_id,
      ${unread(db)} as count, ${unreadVersion(db)} as version, seen.snapshot,
      coalesce((
        select true
        from read_marks rm
        where rm.channel_id = m.channel_id
          and rm.user_id = m.user_id
          and rm.seq = m.last_read_seq
          and rm.read_at > now() - ${readWithinSeconds} * interval '1 second'
        limit 1
      ), false) as is_recent
    from (select ${snapshotNumber(db)} as snapshot) seen
    left join (
      unnest(${appIds}::uuid[], ${userIds}::text[]) as given (app_id, user_id)
      cross join lateral (
        select *
        from members
        where app_id = given.app_id
          and user_id = given.user_id
        offset 0
      ) m
      cross join lateral (
        select *
        from channels
        where id = m.channel_id
        limit 1
      ) c
    ) on c.deleted_at is null`
}
