import type { UserRef } from '../core/user-ref.ts'
import type { News, ToldNote } from './broker.ts'
import { inPieces, jsonBytes } from './chunks.ts'
import type { Connected } from './reach.ts'

/** So many bytes of ids leave room for most events in a payload of PostgreSQL. */
const PIECES = { mostBytes: 6_000, bytesOf: (userId: string) => jsonBytes(userId) }

/** The notes by which other nodes tell these users the news. */
export function toldNotes(news: News, users: Connected<UserRef>[]): ToldNote[] {
  const byNode = new Map<string, string[]>()
  for (const { nodeId, userId } of users) {
    const known = byNode.get(nodeId)
    if (known) known.push(userId)
    else byNode.set(nodeId, [userId])
  }
  return [...byNode].flatMap(([node, userIds]) =>
    [...inPieces(userIds, PIECES)].map((some) => ({ kind: 'told', node, news, userIds: some })),
  )
}
