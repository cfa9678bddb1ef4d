/** The items by key, in their order. Node 20 has no `Map.groupBy`. */
export function groupsOf<Item, Key>(items: Item[], keyOf: (item: Item) => Key) {
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}
