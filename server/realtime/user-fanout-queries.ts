import type { UserRef } from '../core/user-ref.ts'
import type { Tx } from '../db/client.ts'
import { isLargeChannelRow } from '../features/access.ts'
import type { Publication } from './publication.ts'

/** A user on one of the nodes that they are connected to. */
export type ConnectedUser = UserRef & { nodeId: string }
type EventCopy = ConnectedUser & Pick<Publication, 'type' | 'envelope'>

/** An event of a channel, for each node of each member who is connected. */
export const selectCopies = (
  db: Tx,
  where: { channelId: string; topic: string; offset: number },
) => db<EventCopy[]>`
  select con.node_id, con.app_id, con.user_id, e.type, e.envelope
  from events e
  join members m on m.channel_id = ${where.channelId}
  cross join lateral (
    select *
    from connections
    where app_id = m.app_id
      and user_id = m.user_id
    offset 0
  ) con
  where e.topic = ${where.topic} and e."offset" = ${where.offset}`

/**
 * Those who share a channel with each of these users, not counting large channels, and these users
 * themselves, on each node that they are connected to, or only on the given one. The channels come
 * first and are materialised, so the statement never reads the members of a large one, however many
 * of its members are connected.
 */
export async function selectCoMembers(db: Tx, nodeId: string | null, users: UserRef[]) {
  const appIds = users.map(({ appId }) => appId)
  const userIds = users.map(({ userId }) => userId)
  const onNode = nodeId === null ? db`` : db`and node_id = ${nodeId}`
  const rows = await db<(ConnectedUser & { index: number })[]>`
    with given as materialized (
      select index, app_id, user_id
      from unnest(${appIds}::uuid[], ${userIds}::text[])
        with ordinality as given (app_id, user_id, index)
    ),
    shared as materialized (
      select given.index, m.channel_id
      from given
      join members m on m.app_id = given.app_id and m.user_id = given.user_id
      where (
        select c.deleted_at is null and not ${isLargeChannelRow(db)}
        from channels c
        where c.id = m.channel_id
      )
    ),
    co_member as materialized (
      select index, app_id, user_id
      from given
      union
      select shared.index, other.app_id, other.user_id
      from shared
      join members other on other.channel_id = shared.channel_id
    )
    select co_member.index::int, con.node_id, con.app_id, con.user_id
    from co_member
    cross join lateral (
      select *
      from connections
      where app_id = co_member.app_id
        and user_id = co_member.user_id
        ${onNode}
      offset 0
    ) con`
  const coMembers = users.map((): ConnectedUser[] => [])
  for (const { index, ...user } of rows) coMembers[index - 1]?.push(user)
  return coMembers
}
