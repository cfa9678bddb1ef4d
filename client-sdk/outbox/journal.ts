import type { OutboxOperation, OutboxStorage } from '../storage.ts'
import type { Tabs } from './tabs.ts'

type JournalOptions = { storage: OutboxStorage; tabs: Tabs; onError: (error: unknown) => void }

/** Stores the operations of an owner, once one is known, and tells other tabs. */
export class Journal {
  owner: string | undefined
  /** Writes are queued: a storage may carry out concurrent ones in any order. */
  #writes: Promise<unknown> = Promise.resolve()

  constructor(readonly options: JournalOptions) {}

  /** What is stored; undefined if that is not to be had, or of use no longer. */
  async load(): Promise<OutboxOperation[] | undefined> {
    const { storage, onError } = this.options
    const { owner } = this
    if (owner === undefined) return undefined
    await this.#writes
    const stored = await storage.load(owner).catch((error) => void onError(error))
    return owner === this.owner ? (stored ?? undefined) : undefined
  }

  put(operation: OutboxOperation) {
    this.options.tabs.post({ kind: 'put', operation })
    this.#write((storage, owner) => storage.put(owner, operation))
  }

  delete(clientId: string) {
    this.#write((storage, owner) => storage.delete(owner, clientId))
  }

  /** Resolves once everything is written. */
  async settled() {
    await this.#writes
  }

  #write(work: (storage: OutboxStorage, owner: string) => Promise<void>) {
    const { storage, onError } = this.options
    const { owner } = this
    if (owner !== undefined)
      this.#writes = this.#writes.then(() => work(storage, owner)).catch(onError)
  }
}

let lastCreatedAt = 0

/** No two operations have the same time, so that sorting by it restores their order. */
export function dated<Made extends object>(made: Made): Made & { createdAt: string } {
  lastCreatedAt = Math.max(Date.now(), lastCreatedAt + 1)
  return { ...made, createdAt: new Date(lastCreatedAt).toISOString() }
}
