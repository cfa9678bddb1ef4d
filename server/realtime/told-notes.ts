import { type UserRef, userKey } from '../core/user-ref.ts'
import type { News, NodeNote, ToldNote } from './broker.ts'
import { inPieces, jsonBytes } from './chunks.ts'
import type { Connected } from './reach.ts'

/** How many news share a note at most, and their bytes: copies of channels have kilobytes. */
const NEWS_A_NOTE = 100
const NEWS_BYTES = 50_000
/** This many bytes of ids leave room for most events in a payload of PostgreSQL. */
const LEAST_IDS_BYTES = 6_000

/** News, and the users who are told them, on whichever nodes. */
type Telling = { news: News; users: Connected<UserRef>[] }
/** News, and the users of one node who are told them. */
export type Told = { news: News; userIds: string[] }

/**
 * Sends other nodes what they are to tell their users. News that are told in one turn of the event
 * loop share their notes: when many users arrive, the same ones are told of all of them.
 */
export function createToldSender(send: (note: NodeNote) => void) {
  let pending: Telling[] = []
  const flush = () => {
    const told = pending
    pending = []
    for (const note of toldNotes(told)) send(note)
  }
  return {
    tell: (telling: Telling) => {
      if (pending.push(telling) === 1) setImmediate(flush)
    },
    /** Sends at once what waits. */
    flush,
  }
}

/** The notes by which other nodes tell these users the news. */
export const toldNotes = (told: Telling[]): ToldNote[] =>
  [...inPieces(told, NEWS)].flatMap((some) =>
    [...byNode(some)].flatMap(([node, own]) => notesFor(node, own)),
  )
const NEWS = {
  mostBytes: NEWS_BYTES,
  bytesOf: ({ news }: Telling) => Math.max(jsonBytes(news), NEWS_BYTES / NEWS_A_NOTE),
}

/** What the users are told for whom a note is. */
export function toldBy({ news, groups }: ToldNote): Told[] {
  const told = news.map((each): Told => ({ news: each, userIds: [] }))
  for (const [places, userIds] of groups) {
    const bits = Buffer.from(places, 'base64')
    for (const [place, { userIds: own }] of told.entries()) {
      const isTold = ((bits[place >> 3] ?? 0) & (1 << (place & 7))) !== 0
      if (isTold) own.push(...userIds)
    }
  }
  return told
}

function byNode(told: Telling[]) {
  const nodes = new Map<string, Telling[]>()
  for (const { news, users } of told) {
    for (const [node, own] of grouped(users, ({ nodeId }) => nodeId)) {
      const known = nodes.get(node) ?? []
      known.push({ news, users: own })
      nodes.set(node, known)
    }
  }
  return nodes
}

function grouped<Item>(items: Item[], keyOf: (item: Item) => string) {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const known = groups.get(keyOf(item))
    if (known) known.push(item)
    else groups.set(keyOf(item), [item])
  }
  return groups
}

/** The id of a user, with the places of their news as bits. */
type Recipient = { userId: string; places: string }

function notesFor(node: string, told: Telling[]): ToldNote[] {
  const news = told.map((each) => each.news)
  const bytes = news.reduce((sum, each) => sum + jsonBytes(each), 0)
  // With fewer ids in each, the notes would mostly repeat the news.
  const mostBytes = Math.max(LEAST_IDS_BYTES, bytes)
  return [...inPieces(recipientsOf(told), { mostBytes, bytesOf })].map((some) => {
    const groups = [...grouped(some, ({ places }) => places)].map(
      ([places, users]): ToldNote['groups'][number] => [places, users.map(({ userId }) => userId)],
    )
    return { kind: 'told', node, news, groups }
  })
}

/** Those with the same news come together. */
function recipientsOf(told: Telling[]): Recipient[] {
  const bitsOf = new Map<string, { userId: string; bits: Buffer }>()
  for (const [place, { users }] of told.entries()) {
    for (const user of users) {
      const key = userKey(user)
      const known = bitsOf.get(key)
      const { bits } = known ?? { bits: Buffer.alloc(Math.ceil(told.length / 8)) }
      bits[place >> 3] = (bits[place >> 3] ?? 0) | (1 << (place & 7))
      if (!known) bitsOf.set(key, { userId: user.userId, bits })
    }
  }
  return [...bitsOf.values()]
    .map(({ userId, bits }) => ({ userId, places: bits.toString('base64') }))
    .sort((one, other) => Number(one.places > other.places) - Number(one.places < other.places))
}

const bytesOf = ({ userId, places }: Recipient, before?: Recipient) =>
  jsonBytes(userId) + (places === before?.places ? 0 : jsonBytes([places, []]))
