/** Whose users are looked up: those of all nodes, or of this node. */
export type Reach = 'forAll' | 'forOwn'

/** Someone who is connected, and a node that they are connected to. */
export type Connected<Item> = Item & { nodeId: string }
