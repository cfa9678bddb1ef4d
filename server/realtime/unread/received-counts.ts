import { userKey } from '../../core/user-ref.ts'
import type { ChannelCounts, CountsNote } from '../broker/index.ts'
import { groupBy, inPieces, jsonBytes } from '../chunks.ts'
import { type ChannelChange, type DirtyChannels, joined } from '../dirty-channels.ts'
import type { ConnectedCount, UnreadCount } from './counts.ts'

/** A count of a user of this node, and why it was read. */
export type CausedCount = UnreadCount & ChannelChange

/** The most bytes of counts in a note: they fit into a payload, however long user ids are. */
const NOTE_BYTES = 7_500
/** The bytes of a channel beside its counts. */
const CHANNEL_BYTES = 250

const PIECES = {
  mostBytes: NOTE_BYTES,
  bytesOf: ({ channelId, userId, count, version }: ConnectedCount, before?: ConnectedCount) =>
    jsonBytes([userId, count, version]) + (channelId === before?.channelId ? 0 : CHANNEL_BYTES),
}

/** The notes by which other nodes learn the counts of their users, which one statement has read. */
export function countsNotes(
  counts: ConnectedCount[],
  changeOf: (channelId: string) => ChannelChange | undefined,
): CountsNote[] {
  return [...groupBy(counts, ({ nodeId }) => nodeId)].flatMap(([node, counts]) =>
    [...inPieces(counts, PIECES)].map((some) => {
      const channels = new Map<string, ChannelCounts>()
      for (const { appId, channelId, userId, count, version } of some) {
        const change = changeOf(channelId)
        if (!change) continue
        const known = channels.get(channelId) ?? { appId, channelId, ...change, users: [] }
        channels.set(channelId, known)
        known.users.push([userId, count, version])
      }
      const [snapshot] = some.map((count) => count.snapshot)
      return { kind: 'counts' as const, node, snapshot, channels: [...channels.values()] }
    }),
  )
}

/** Counts that other nodes have read, and that users of this node are not sent yet. */
export class ReceivedCounts {
  readonly #counts = new Map<string, CausedCount>()

  get size() {
    return this.#counts.size
  }

  all() {
    return [...this.#counts.values()]
  }

  /** Keeps the newer of two counts, with what happened before either. */
  receive(count: CausedCount) {
    const key = `${userKey(count)} ${count.channelId}`
    const known = this.#counts.get(key)
    const newer = known && known.version > count.version ? known : count
    this.#counts.set(key, known ? { ...newer, ...joined(known, count) } : count)
  }

  add(other: ReceivedCounts) {
    for (const count of other.#counts.values()) this.receive(count)
  }

  clear() {
    this.#counts.clear()
  }
}

export const countsOf = (
  { appId, channelId, offset, author, isDeletion, users }: ChannelCounts,
  snapshot = Number.NaN,
) =>
  users.map(
    ([userId, count, version]): CausedCount => ({
      ...{ appId, userId, channelId, count, version, snapshot },
      ...{ offset, author, isDeletion },
    }),
  )

/** The counts, each with what happened in its channel. */
export const withChanges = (counts: ConnectedCount[], dirty: DirtyChannels): CausedCount[] =>
  counts.flatMap(({ nodeId: _, ...count }) => {
    const change = dirty.get(count.channelId)
    return change ? [{ ...count, ...change }] : []
  })
