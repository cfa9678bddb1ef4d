/** The items in their order, at most `size` at a time. */
export function* inChunks<Item>(items: Item[], size: number) {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size)
}

/**
 * Yields the items in order, in pieces of at most `mostBytes`. A larger item comes alone. `bytesOf`
 * also gets the item before it in the same piece.
 */
export function* inPieces<Item>(
  items: Item[],
  { mostBytes, bytesOf }: { mostBytes: number; bytesOf: (item: Item, before?: Item) => number },
) {
  let piece: Item[] = []
  let bytes = 0
  for (const item of items) {
    bytes += bytesOf(item, piece.at(-1))
    if (bytes > mostBytes && piece.length > 0) {
      yield piece
      piece = []
      bytes = bytesOf(item)
    }
    piece.push(item)
  }
  if (piece.length > 0) yield piece
}

/** The bytes of a value as JSON, and of a comma. */
export const jsonBytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value)) + 1

/** The items by their keys, in their order. */
export function groupBy<Item>(items: Item[], keyOf: (item: Item) => string) {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const known = groups.get(keyOf(item))
    if (known) known.push(item)
    else groups.set(keyOf(item), [item])
  }
  return groups
}
