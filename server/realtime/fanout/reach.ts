import type { Fragment, Tx } from '../../db/client.ts'
import { onNode } from '../../features/connected.ts'

/** Whether to look up the users of all nodes, or of this node. */
export type Reach = 'forAll' | 'forOwn'

/** Someone who is connected, and a node that they are connected to. */
export type Connected<Item> = Item & { nodeId: string }

/** The nodes, or the given one, that the user of row `of` is connected to. */
export const nodesOf = (db: Tx, of: Fragment, nodeId: string | null) => db`(
  select node_id
  from connections
  where app_id = ${of}.app_id
    and user_id = ${of}.user_id
    ${onNode(db, nodeId)}
  offset 0
)`
