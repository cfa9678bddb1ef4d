import type { Tx } from '../db/client.ts'
import { isLargeChannelRow } from './channels/access.ts'

/** A condition on `connections`: those to this node; null means to any. */
export const onNode = (db: Tx, nodeId: string | null) =>
  nodeId === null ? db`` : db`and node_id = ${nodeId}`

/**
 * Whether channel row `c` is large and has more members than its app has connected users. If so,
 * its connected members are found by the connections, and not by the members.
 */
export const sizeOf = (db: Tx, nodeId: string | null) => db`(
  select ${isLargeChannelRow(db)} and c.member_count > (
    select count(*)
    from (
      select
      from connections
      where app_id = c.app_id
        ${onNode(db, nodeId)}
      limit c.member_count
    ) connected
  ) as is_large
  offset 0
)`

/** The connections `con` to a node, or to any, of members of channel `c`, if it is large. */
export const ofLargeChannel = (db: Tx, nodeId: string | null) => db`
  from connections con
  where con.app_id = c.app_id
    ${onNode(db, nodeId)}
    and size.is_large
    and (
      select true
      from members m
      where m.channel_id = c.id
        and m.user_id = con.user_id
    )`

/** The members of a channel who are connected, to any node. */
export const selectConnected = (db: Tx, channelId: string) => db<{ userId: string }[]>`
  select connected.user_id
  from channels c
  cross join lateral ${sizeOf(db, null)} size
  cross join lateral (
    select m.user_id
    from members m
    where m.channel_id = c.id
      and not size.is_large
      and exists (
        select
        from connections con
        where con.app_id = m.app_id
          and con.user_id = m.user_id
      )
    union
    select con.user_id
    ${ofLargeChannel(db, null)}
  ) connected
  where c.id = ${channelId}`
