/** A queue in which apps alternate: however much of one waits, another has the next turn. */
export class FairQueue<Item> {
  /** By app. The first app is the next one. */
  readonly #waiting = new Map<string, Item[]>()
  #size = 0

  get size() {
    return this.#size
  }

  push(appId: string, item: Item) {
    const waiting = this.#waiting.get(appId)
    if (waiting) waiting.push(item)
    else this.#waiting.set(appId, [item])
    this.#size += 1
  }

  /** Removes the next item. Its app comes again after all others. */
  shift(): Item | undefined {
    const next = this.#waiting.entries().next().value
    if (next === undefined) return undefined
    const [appId, items] = next
    const item = items.shift()
    this.#waiting.delete(appId)
    if (items.length > 0) this.#waiting.set(appId, items)
    this.#size -= 1
    return item
  }
}
