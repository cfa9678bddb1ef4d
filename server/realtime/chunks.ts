/** The items in their order, at most `size` at a time. */
export function* inChunks<Item>(items: Item[], size: number) {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size)
}
