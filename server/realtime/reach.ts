import type { Fragment, Tx } from '../db/client.ts'
import { isLargeChannelRow } from '../features/access.ts'

/** Whose users are looked up: those of all nodes, or of this node. */
export type Reach = 'forAll' | 'forOwn'

/** Someone who is connected, and a node that they are connected to. */
export type Connected<Item> = Item & { nodeId: string }

/** Of table `connections`: those to this node; null means to any. */
export const onNode = (db: Tx, nodeId: string | null) =>
  nodeId === null ? db`` : db`and node_id = ${nodeId}`

/** The nodes, or the given one, that the user of row `of` is connected to. */
export const nodesOf = (db: Tx, of: Fragment, nodeId: string | null) => db`(
  select node_id
  from connections
  where app_id = ${of}.app_id
    and user_id = ${of}.user_id
    ${onNode(db, nodeId)}
  offset 0
)`

/**
 * Whether channel row `c` is large and has more members than its app has connected users: then who
 * of them is connected is found by the connections, and not by the members.
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
  ) as is_crowded
  offset 0
)`
