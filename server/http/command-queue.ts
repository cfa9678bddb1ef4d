import type { Amount } from './waiting-room.ts'

type QueuedCommand = { bytes: number; keys: { resource: string } }

/**
 * Waiting commands, first in first out for each resource. The resources take turns, and while a
 * command of a resource runs, the others of that resource wait.
 */
export class CommandQueue<Entry extends QueuedCommand> {
  readonly #byResource = new Map<string, Entry[]>()
  readonly #running = new Set<string>()
  #ready = 0

  /** How many commands could run now. */
  get ready() {
    return this.#ready
  }

  add(entry: Entry) {
    const { resource } = entry.keys
    const entries = this.#byResource.get(resource)
    if (entries) entries.push(entry)
    else this.#byResource.set(resource, [entry])
    if (!this.#running.has(resource)) this.#ready += 1
  }

  /** Takes one command of each resource in turn, until the batch is full. */
  takeBatch(batch: Amount) {
    const taken: Entry[] = []
    let bytes = 0
    for (const [resource, entries] of this.#byResource) {
      if (this.#running.has(resource)) continue
      const [entry] = entries
      if (!entry) throw new Error('a resource without commands is not queued')
      bytes += entry.bytes
      if (taken.length === batch.commands || (taken.length > 0 && bytes > batch.bytes)) break
      taken.push(entry)
      entries.shift()
      this.#ready -= 1
      // Moved to the end, where this loop comes to it again: the other resources have their turn
      // first.
      this.#byResource.delete(resource)
      if (entries.length > 0) this.#byResource.set(resource, entries)
    }
    for (const resource of resourcesOf(taken)) {
      this.#running.add(resource)
      this.#ready -= this.#waitingOf(resource)
    }
    return taken
  }

  /** Marks taken commands as finished: what waits behind them may be taken. */
  release(taken: Entry[]) {
    for (const resource of resourcesOf(taken)) {
      this.#running.delete(resource)
      this.#ready += this.#waitingOf(resource)
    }
  }

  /** Takes all commands of a resource. */
  takeAllOf(resource: string) {
    const entries = this.#byResource.get(resource) ?? []
    this.#byResource.delete(resource)
    if (!this.#running.has(resource)) this.#ready -= entries.length
    return entries
  }

  #waitingOf(resource: string) {
    return this.#byResource.get(resource)?.length ?? 0
  }
}

const resourcesOf = (entries: QueuedCommand[]) => new Set(entries.map(({ keys }) => keys.resource))
