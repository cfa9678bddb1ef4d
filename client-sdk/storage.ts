import { browser, type IdbDatabase, type IdbObjectStore } from './platform.ts'
import type { Attachment } from './types.ts'

/** A message that the server does not have yet. */
export type Outgoing = {
  clientId: string
  channelId: string
  text: string
  attachments: Attachment[]
  parentId?: string | undefined
  createdAt: string
  /** Why the server refused it. The message stays until the user retries or discards it. */
  failure?: { code: string; message: string; status: number } | undefined
}

/** Where unsent messages are stored. `owner` identifies a user of an app. */
export type OutboxStorage = {
  /** The owner's messages, oldest first. */
  load: (owner: string) => Promise<Outgoing[]>
  put: (owner: string, message: Outgoing) => Promise<void>
  delete: (owner: string, clientId: string) => Promise<void>
}

/** Where a client stores its outbox: by default in IndexedDB if there is one. */
export function createStorage(
  choice: 'indexeddb' | 'memory' | OutboxStorage = browser.indexedDB ? 'indexeddb' : 'memory',
): OutboxStorage {
  if (choice === 'indexeddb') return indexedDbStorage()
  return choice === 'memory' ? memoryStorage() : choice
}

/** Stores messages in memory: they are lost when the page or process ends. */
export function memoryStorage(): OutboxStorage {
  const messagesByOwner = new Map<string, Map<string, Outgoing>>()
  const messagesOf = (owner: string) => {
    const messages = messagesByOwner.get(owner) ?? new Map<string, Outgoing>()
    messagesByOwner.set(owner, messages)
    return messages
  }
  return {
    load: async (owner) => [...messagesOf(owner).values()],
    put: async (owner, message) => void messagesOf(owner).set(message.clientId, message),
    delete: async (owner, clientId) => void messagesOf(owner).delete(clientId),
  }
}

/** Stores messages in IndexedDB: they survive reloads of the page. */
export function indexedDbStorage(name = 'parley-outbox'): OutboxStorage {
  let opened: Promise<IdbDatabase> | undefined
  const open = () => {
    opened ??= new Promise((resolve, reject) => {
      const request = browser.indexedDB?.open(name, 1)
      if (!request) return reject(new Error('IndexedDB is not available here'))
      request.onupgradeneeded = () =>
        request.result
          .createObjectStore('messages', { keyPath: ['owner', 'clientId'] })
          .createIndex('owner', 'owner')
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error)
    })
    return opened
  }
  const run = async <T>(
    mode: 'readonly' | 'readwrite',
    work: (messages: IdbObjectStore) => { result: T },
  ) => {
    const transaction = (await open()).transaction('messages', mode)
    const request = work(transaction.objectStore('messages'))
    return new Promise<T>((resolve, reject) => {
      transaction.oncomplete = () => resolve(request.result)
      transaction.onabort = () => reject(transaction.error)
    })
  }
  return {
    load: async (owner) => {
      const rows = await run('readonly', (messages) => messages.index('owner').getAll(owner))
      const stored = rows as Outgoing[] // only `put` writes here
      return stored.sort((a, b) => a.createdAt.localeCompare(b.createdAt))
    },
    put: async (owner, message) => {
      await run('readwrite', (messages) => messages.put({ ...message, owner }))
    },
    delete: async (owner, clientId) => {
      await run('readwrite', (messages) => messages.delete([owner, clientId]))
    },
  }
}
