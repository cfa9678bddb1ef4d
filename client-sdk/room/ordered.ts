import { keepIfEqual } from '../shared/equality.ts'

type Ordered = { id: string; seq: number; userId: string; clientId?: string | null | undefined }
type Chunk<Item> = readonly Item[]
/**
 * Shared by all versions of a collection. It only grows, so each version checks what it finds here.
 */
type Index = { seqs: Map<string, number>; ids: Map<string, string> }

/** A change copies one chunk and the list of chunks, so neither may be long. */
const MAX_CHUNK = 256

/**
 * Messages by id and in the order of their `seq`. Immutable: `with` returns another collection, at
 * a cost that hardly depends on how many messages there are.
 */
export class OrderedMessages<Item extends Ordered> {
  private constructor(
    readonly chunks: readonly Chunk<Item>[],
    /** The same in all versions of a collection. */
    readonly index: Index,
  ) {}

  static of<Item extends Ordered>(items: readonly Item[] = []): OrderedMessages<Item> {
    return new OrderedMessages<Item>([], { seqs: new Map(), ids: new Map() }).with(items)
  }

  get size() {
    return this.chunks.reduce((size, { length }) => size + length, 0)
  }

  get(id: string): Item | undefined {
    const seq = this.index.seqs.get(id) ?? Number.NaN
    const chunk = this.chunks[chunkFor(this.chunks, seq)] ?? []
    const item = chunk[lowerBound(chunk, seq)]
    return item?.id === id ? item : undefined
  }

  /** The user's message with this `clientId`. */
  ofClient(userId: string, clientId: string): Item | undefined {
    return this.get(this.index.ids.get(clientKey(userId, clientId)) ?? '')
  }

  /** The message's id now, if the user names it by the `clientId` that it had while unsent. */
  idOf(userId: string, id: string): string {
    return this.index.ids.get(clientKey(userId, id)) ?? id
  }

  /** In the order of their seq. */
  values(): readonly Item[] {
    return concat(this.chunks)
  }

  get last(): Item | undefined {
    return this.chunks.at(-1)?.at(-1)
  }

  /**
   * The items from one seq to another, in parts: a whole chunk is the same array until it changes.
   */
  range(from: number, to: number): readonly Chunk<Item>[] {
    const { chunks } = this
    const parts = chunks.slice(chunkFor(chunks, from), chunkFor(chunks, to) + 1)
    return parts.map((chunk, at) => {
      if (at > 0 && at < parts.length - 1) return chunk
      const [start, end] = [lowerBound(chunk, from), lowerBound(chunk, to + 1)]
      return end - start < chunk.length ? chunk.slice(start, end) : chunk
    })
  }

  /** Adds items, each id once, or puts them in the place of those with their ids or seqs. */
  with(items: readonly Item[]): OrderedMessages<Item> {
    if (items.length === 0) return this
    const { seqs } = this.index
    if (this.chunks.length > 0 && items.some(({ id, seq }) => (seqs.get(id) ?? seq) !== seq)) {
      const added = new Set(items.map(({ id }) => id))
      return OrderedMessages.of([...this.values().filter(({ id }) => !added.has(id)), ...items])
    }
    // The empty collection is shared by channels.
    const index = this.chunks.length === 0 ? { seqs: new Map(), ids: new Map() } : this.index
    const chunks = [...this.chunks]
    const copies = new Set<Chunk<Item>>()
    for (const item of items) {
      index.seqs.set(item.id, item.seq)
      if (item.clientId) index.ids.set(clientKey(item.userId, item.clientId), item.id)
      insert({ chunks, copies }, item)
    }
    return new OrderedMessages(chunks, index)
  }

  /** The same collection if nothing changes. `change` keeps ids and seqs. */
  map(change: (item: Item) => Item): OrderedMessages<Item> {
    const chunks = this.chunks.map((chunk) => keepIfEqual(chunk, chunk.map(change)))
    return chunks.every((chunk, at) => chunk === this.chunks[at])
      ? this
      : new OrderedMessages(chunks, this.index)
  }
}

export const concat = <Item>(parts: readonly (readonly Item[])[]): Item[] =>
  ([] as Item[]).concat(...parts)

/** The position of the first item with this seq or a greater one. */
export const lowerBound = (items: readonly { seq: number }[], seq: number) =>
  search(items.length, (at) => (items[at]?.seq ?? 0) < seq)

/** The first position that is not before the one searched for. */
function search(length: number, isBefore: (at: number) => boolean): number {
  let [low, high] = [0, length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}

const clientKey = (userId: string, clientId: string) => `${userId}\n${clientId}`

/** The chunk in which this seq is, or would be. */
const chunkFor = (chunks: readonly Chunk<{ seq: number }>[], seq: number) =>
  Math.max(
    1,
    search(chunks.length, (at) => (chunks[at]?.[0]?.seq ?? 0) <= seq),
  ) - 1

function insert<Item extends Ordered>(
  { chunks, copies }: { chunks: Chunk<Item>[]; copies: Set<Chunk<Item>> },
  item: Item,
) {
  const at = chunkFor(chunks, item.seq)
  const before = chunks[at] ?? []
  const position = lowerBound(before, item.seq)
  // Copied once, however many items come: the copy is not shared yet.
  const chunk = copies.has(before) ? (before as Item[]) : [...before]
  const isKnown = chunk[position]?.seq === item.seq
  chunk.splice(position, isKnown ? 1 : 0, item)
  const halves =
    chunk.length > MAX_CHUNK ? [chunk.slice(0, MAX_CHUNK / 2), chunk.slice(MAX_CHUNK / 2)] : [chunk]
  for (const half of halves) copies.add(half)
  chunks.splice(at, 1, ...halves)
}
