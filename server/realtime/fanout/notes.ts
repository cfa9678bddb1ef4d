import { type UserRef, userKey } from '../../core/user-ref.ts'
import type { Fanout, FanoutNote, NodeNote } from '../broker/index.ts'
import { groupBy, inPieces, jsonBytes } from '../chunks.ts'
import type { Connected } from './reach.ts'

/** The most fan-outs in a note, and their bytes: a copy of a channel has kilobytes. */
const FANOUTS_A_NOTE = 100
const FANOUT_BYTES = 50_000
/** This many bytes of ids leave enough room for most events in a payload of PostgreSQL. */
const LEAST_IDS_BYTES = 6_000

/** A fan-out and its recipients on all nodes. */
type Addressed = { fanout: Fanout; users: Connected<UserRef>[] }
/** A fan-out and its recipients on one node. */
export type NodeFanout = { fanout: Fanout; userIds: string[] }

/**
 * Sends other nodes the fan-outs for their users. The fan-outs of one turn of the event loop share
 * notes: when many users arrive, the same users are sent all of these changes.
 */
export function createFanoutSender(send: (note: NodeNote) => void) {
  let pending: Addressed[] = []
  const flush = () => {
    const all = pending
    pending = []
    for (const note of fanoutNotes(all)) send(note)
  }
  return {
    send: (addressed: Addressed) => {
      if (pending.push(addressed) === 1) setImmediate(flush)
    },
    /** Sends at once what waits. */
    flush,
  }
}

/** The notes that bring these fan-outs to the nodes of their recipients. */
export const fanoutNotes = (all: Addressed[]): FanoutNote[] =>
  [...inPieces(all, PIECES)].flatMap((some) =>
    [...fanoutsByNode(some)].flatMap(([node, own]) => notesFor(node, own)),
  )
const PIECES = {
  mostBytes: FANOUT_BYTES,
  bytesOf: ({ fanout }: Addressed) => Math.max(jsonBytes(fanout), FANOUT_BYTES / FANOUTS_A_NOTE),
}

/** The fan-outs of a note, each with its recipients. */
export function fanoutsIn({ fanouts, groups }: FanoutNote): NodeFanout[] {
  const all = fanouts.map((fanout): NodeFanout => ({ fanout, userIds: [] }))
  for (const [fanoutBits, userIds] of groups) {
    const bits = Buffer.from(fanoutBits, 'base64')
    for (const [index, { userIds: own }] of all.entries()) {
      const isReceived = ((bits[index >> 3] ?? 0) & (1 << (index & 7))) !== 0
      if (isReceived) own.push(...userIds)
    }
  }
  return all
}

function fanoutsByNode(all: Addressed[]) {
  const nodes = new Map<string, Addressed[]>()
  for (const { fanout, users } of all) {
    for (const [node, own] of groupBy(users, ({ nodeId }) => nodeId)) {
      const known = nodes.get(node) ?? []
      known.push({ fanout, users: own })
      nodes.set(node, known)
    }
  }
  return nodes
}

/** The id of a user, with their fan-outs as bits. */
type NotedRecipient = { userId: string; fanoutBits: string }

function notesFor(node: string, addressed: Addressed[]): FanoutNote[] {
  const fanouts = addressed.map(({ fanout }) => fanout)
  const bytes = fanouts.reduce((sum, each) => sum + jsonBytes(each), 0)
  // With fewer ids in each note, most of their bytes would be the repeated fan-outs.
  const mostBytes = Math.max(LEAST_IDS_BYTES, bytes)
  return [...inPieces(recipientsOf(addressed), { mostBytes, bytesOf })].map((some) => {
    const groups = [...groupBy(some, ({ fanoutBits }) => fanoutBits)].map(
      ([fanoutBits, users]): FanoutNote['groups'][number] => [
        fanoutBits,
        users.map(({ userId }) => userId),
      ],
    )
    return { kind: 'fanout', node, fanouts, groups }
  })
}

/** Recipients of the same fan-outs come together. */
function recipientsOf(addressed: Addressed[]): NotedRecipient[] {
  const bitsOf = new Map<string, { userId: string; bits: Buffer }>()
  for (const [index, { users }] of addressed.entries()) {
    for (const user of users) {
      const key = userKey(user)
      const known = bitsOf.get(key)
      const { bits } = known ?? { bits: Buffer.alloc(Math.ceil(addressed.length / 8)) }
      bits[index >> 3] = (bits[index >> 3] ?? 0) | (1 << (index & 7))
      if (!known) bitsOf.set(key, { userId: user.userId, bits })
    }
  }
  return [...bitsOf.values()]
    .map(({ userId, bits }) => ({ userId, fanoutBits: bits.toString('base64') }))
    .sort(
      (one, other) =>
        Number(one.fanoutBits > other.fanoutBits) - Number(one.fanoutBits < other.fanoutBits),
    )
}

const bytesOf = ({ userId, fanoutBits }: NotedRecipient, before?: NotedRecipient) =>
  jsonBytes(userId) + (fanoutBits === before?.fanoutBits ? 0 : jsonBytes([fanoutBits, []]))
