/** A queue in which callers alternate: however much of one waits, another has the next turn. */
export class FairQueue<Item> {
  /** By caller. The first is the next one. */
  readonly #waiting = new Map<string, Item[]>()
  #size = 0

  get size() {
    return this.#size
  }

  push(caller: string, item: Item) {
    const waiting = this.#waiting.get(caller)
    if (waiting) waiting.push(item)
    else this.#waiting.set(caller, [item])
    this.#size += 1
  }

  /** Removes the next item. Its caller comes again after all others. */
  shift(): Item | undefined {
    const next = this.#waiting.entries().next().value
    if (next === undefined) return undefined
    const [caller, items] = next
    const item = items.shift()
    this.#waiting.delete(caller)
    if (items.length > 0) this.#waiting.set(caller, items)
    this.#size -= 1
    return item
  }
}
