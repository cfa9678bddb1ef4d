import { type OutboxOperation, type OutboxStorage, withoutApp } from '../backing-store/storage.ts'
import { isOperation } from './entry.ts'
import type { TabChange, Tabs } from './tabs.ts'

type JournalOptions = { storage: OutboxStorage; tabs: Tabs; onError: (error: unknown) => void }

/** The stored operations, and the ids of all that were, as far as this tab knows. */
export type StoredOperations = { operations: OutboxOperation[]; wasStored: ReadonlySet<string> }

/** Stores the operations of an owner, once one is known, and notifies other tabs. */
export class Journal {
  owner: string | undefined
  /** Writes are queued: a storage may carry out concurrent ones in any order. */
  #writes: Promise<unknown> = Promise.resolve()
  /** The operations that are stored, by this tab or by another. */
  readonly #stored = new Set<string>()
  /** The operations that were deleted while loads run. */
  readonly #deleted = new Set<string>()
  #loads = 0

  constructor(readonly options: JournalOptions) {}

  /** The stored operations; undefined if they cannot be read, or are no longer needed. */
  async load(): Promise<StoredOperations | undefined> {
    const { storage, onError } = this.options
    const { owner } = this
    if (owner === undefined) return undefined
    this.#loads += 1
    await this.#writes
    const wasStored = new Set(this.#stored)
    try {
      await adopt(storage, owner)
      // It may have been adopted after that.
      for (const clientId of this.#deleted) this.delete(clientId)
      const rows = (await storage.load(owner)).filter(isOperation)
      const operations = rows
        .filter(({ clientId }) => !this.#deleted.has(clientId))
        .sort((a, b) => a.createdAt.localeCompare(b.createdAt))
      if (owner !== this.owner) return undefined
      for (const { clientId, createdAt } of operations) {
        this.#stored.add(clientId)
        noteTime(createdAt)
      }
      return { operations, wasStored }
    } catch (error) {
      return void onError(error)
    } finally {
      this.#loads -= 1
      if (this.#loads === 0) this.#deleted.clear()
    }
  }

  put(op: OutboxOperation) {
    // A caller's attachments may be objects that are not cloned, such as proxies.
    const plain = JSON.parse(JSON.stringify(op)) as OutboxOperation // a copy
    this.#deleted.delete(op.clientId)
    this.options.tabs.post({ kind: 'put', operation: plain })
    this.#write(async (storage, owner) => {
      await storage.put(owner, plain)
      if (owner === this.owner) this.#stored.add(plain.clientId)
    })
  }

  delete(clientId: string) {
    this.#stored.delete(clientId)
    if (this.#loads > 0) this.#deleted.add(clientId)
    this.#write((storage, owner) => storage.delete(owner, clientId))
  }

  /**
   * Another tab has stored or deleted an operation. It may have deleted one of this tab before this
   * tab has stored it.
   */
  follow(message: TabChange) {
    if (message.kind !== 'put') return this.delete(message.clientId)
    this.#stored.add(message.operation.clientId)
    this.#deleted.delete(message.operation.clientId)
    noteTime(message.operation.createdAt)
  }

  /** Deletes everything of the owner, and ends the other tabs. */
  async clear() {
    this.options.tabs.post({ kind: 'ended' })
    this.#write(async (storage, owner) => {
      await adopt(storage, owner)
      for (const { clientId } of await storage.load(owner)) await storage.delete(owner, clientId)
    })
    await this.#writes
    this.#stored.clear()
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
const noteTime = (createdAt: string) => {
  lastCreatedAt = Math.max(lastCreatedAt, Date.parse(createdAt) || 0)
}

/**
 * No two operations have the same time, and none is before one that is stored, whatever the clock
 * says: sorting by it restores their order.
 */
export function dated<Made extends object>(made: Made): Made & { createdAt: string } {
  lastCreatedAt = Math.max(Date.now(), lastCreatedAt + 1)
  return { ...made, createdAt: new Date(lastCreatedAt).toISOString() }
}

/**
 * Before the first token, owners are without their app. In 0.1.0 they were without the address of
 * their server.
 */
async function adopt(storage: OutboxStorage, owner: string) {
  for (const former of [withoutApp(owner), owner.replace(/.*? /, '')]) {
    if (former === owner) continue
    for (const operation of await storage.load(former)) {
      await storage.put(owner, operation)
      await storage.delete(former, operation.clientId)
    }
  }
}
