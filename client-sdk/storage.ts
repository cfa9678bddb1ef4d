import { browser, type Database, type Kept } from './browser.ts'
import type { Attachment } from './types.ts'

/** A message that waits for the server. */
export type Outgoing = {
  clientId: string
  channelId: string
  text: string
  attachments: Attachment[]
  parentId?: string | undefined
  createdAt: string
  /** Why the server refused it; such a message waits for the user. */
  failure?: { code: string; message: string; status: number } | undefined
}

/** Where the outbox lives. `owner` names a user of an app. */
export type OutboxStorage = {
  /** All that is kept for the owner, oldest first. */
  load: (owner: string) => Promise<Outgoing[]>
  put: (owner: string, message: Outgoing) => Promise<void>
  delete: (owner: string, clientId: string) => Promise<void>
}

/** Keeps nothing beyond the life of the page or process. */
export function memoryStorage(): OutboxStorage {
  const kept = new Map<string, Map<string, Outgoing>>()
  const of = (owner: string) =>
    kept.get(owner) ?? kept.set(owner, new Map()).get(owner) ?? new Map<string, Outgoing>()
  return {
    load: async (owner) => [...of(owner).values()],
    put: async (owner, message) => void of(owner).set(message.clientId, message),
    delete: async (owner, clientId) => void of(owner).delete(clientId),
  }
}

/** Survives reloads of the page. */
export function indexedDbStorage(name = 'parley-outbox'): OutboxStorage {
  let opened: Promise<Database> | undefined
  const open = () => {
    opened ??= new Promise((resolve, reject) => {
      const request = browser.indexedDB?.open(name, 1)
      if (!request) return reject(new Error('there is no IndexedDB here'))
      request.onupgradeneeded = () =>
        request.result
          .createObjectStore('messages', { keyPath: ['owner', 'clientId'] })
          .createIndex('owner', 'owner')
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error)
    })
    return opened
  }
  const run = async <T>(mode: 'readonly' | 'readwrite', work: (kept: Kept) => { result: T }) => {
    const transaction = (await open()).transaction('messages', mode)
    const request = work(transaction.objectStore('messages'))
    return new Promise<T>((resolve, reject) => {
      transaction.oncomplete = () => resolve(request.result)
      transaction.onabort = () => reject(transaction.error)
    })
  }
  return {
    load: async (owner) => {
      const kept = (await run('readonly', (messages) =>
        messages.index('owner').getAll(owner),
      )) as Outgoing[] // as they were put
      return kept.sort((a, b) => a.createdAt.localeCompare(b.createdAt))
    },
    put: async (owner, message) =>
      void (await run('readwrite', (messages) => messages.put({ ...message, owner }))),
    delete: async (owner, clientId) =>
      void (await run('readwrite', (messages) => messages.delete([owner, clientId]))),
  }
}
