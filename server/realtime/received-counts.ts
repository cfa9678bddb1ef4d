import type { ChannelCounts, CountsNote } from './broker.ts'
import { inChunks } from './chunks.ts'
import type { ConnectedCount, UnreadCount } from './unread-counts.ts'

/** A count of a user of this node, which another node has read. */
export type ReceivedCount = UnreadCount & Pick<ChannelCounts, 'author' | 'isDeletion'>

/** How many counts one note holds. */
const COUNTS_PER_NOTE = 500

/** The notes by which other nodes learn the counts of their users. */
export function countsNotes(
  rows: ConnectedCount[],
  changeOf: (channelId: string) => Pick<ChannelCounts, 'author' | 'isDeletion'>,
): CountsNote[] {
  const byNode = new Map<string, ConnectedCount[]>()
  for (const row of rows) {
    const known = byNode.get(row.nodeId)
    if (known) known.push(row)
    else byNode.set(row.nodeId, [row])
  }
  return [...byNode].flatMap(([node, rows]) =>
    [...inChunks(rows, COUNTS_PER_NOTE)].map((some) => {
      const channels = new Map<string, ChannelCounts>()
      for (const { appId, channelId, userId, count, version } of some) {
        const known = channels.get(channelId) ?? {
          ...{ appId, channelId, ...changeOf(channelId) },
          users: [],
        }
        channels.set(channelId, known)
        known.users.push([userId, count, version])
      }
      return { kind: 'counts' as const, node, channels: [...channels.values()] }
    }),
  )
}

export const countsOf = ({ channels }: CountsNote): ReceivedCount[] =>
  channels.flatMap(({ users, ...channel }) =>
    users.map(([userId, count, version]) => ({ ...channel, userId, count, version })),
  )
