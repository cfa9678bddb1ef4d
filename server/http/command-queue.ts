import type { Amount } from './waiting-room.ts'

type Waiting = { bytes: number; keys: { resource: string } }

/** Commands that wait, in order for each resource. The resources take turns. */
export class CommandQueue<Entry extends Waiting> {
  readonly #byResource = new Map<string, Entry[]>()

  get isEmpty() {
    return this.#byResource.size === 0
  }

  add(entry: Entry) {
    const entries = this.#byResource.get(entry.keys.resource)
    if (entries) entries.push(entry)
    else this.#byResource.set(entry.keys.resource, [entry])
  }

  /** Takes one command of each resource in turn, until the batch is full. */
  takeBatch(batch: Amount) {
    const taken: Entry[] = []
    let bytes = 0
    for (const [resource, entries] of this.#byResource) {
      const [entry] = entries
      if (!entry) throw new Error('a resource without commands is not queued')
      bytes += entry.bytes
      if (taken.length === batch.commands || (taken.length > 0 && bytes > batch.bytes)) break
      taken.push(entry)
      entries.shift()
      // To the end, where this loop meets it again: the other resources have their turn first.
      this.#byResource.delete(resource)
      if (entries.length > 0) this.#byResource.set(resource, entries)
    }
    return taken
  }

  /** Takes all commands of a resource. */
  takeAllOf(resource: string) {
    const entries = this.#byResource.get(resource) ?? []
    this.#byResource.delete(resource)
    return entries
  }
}
