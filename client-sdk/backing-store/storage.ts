import type { Attachment, Message, TokenResult, UserApi } from '../generated/types.ts'
import { browser } from '../shared/platform.ts'
import { openDatabase } from './indexed-db.ts'

type OutboxRecord = {
  /** Identifies the operation; of a message to send it is the message's key, too. */
  clientId: string
  channelId: string
  /** When it was done, in ISO 8601. Operations of a channel are sent in this order. */
  createdAt: string
  /** Why the server refused it. Messages stay until the user retries or discards them. */
  failure?: { code: string; message: string; status: number } | undefined
}
/** A message that the server does not have yet. */
export type Outgoing = OutboxRecord & {
  /** Tells it from other operations; messages of earlier versions have none. */
  type?: 'send' | undefined
  /** The text to send. */
  text: string
  /** Files, by their addresses. */
  attachments: Attachment[]
  /** The message to reply to, in its thread. */
  parentId?: string | undefined
  /** The message to quote. */
  quotedMessageId?: string | undefined
  /** The application's own fields. */
  custom?: Message['custom']
}
/**
 * An edit of a message: another text, its metadata, or both. Of `custom` null removes a field, and
 * fields that are left out stay; null removes all.
 */
export type MessageEdit = Pick<Parameters<UserApi['messages']['edit']>[0], 'text' | 'custom'>
/** A change that the server does not have yet, of a message: its id, or its key while unsent. */
export type OutgoingChange = OutboxRecord & {
  /** The message to change: its id, or its `clientId` while it is unsent. */
  messageId: string
} & (
    | ({
        /** Another text, other metadata, or both. */
        type: 'edit'
        /** The `editedAt` of the message that was edited: another edit refuses this one. */
        ifEditedAt?: string | null | undefined
      } & MessageEdit)
    | {
        /** The action on the message as a whole. */
        type: 'delete' | 'pin' | 'unpin'
      }
    | {
        /** Whether the reaction is added or removed. */
        type: 'react' | 'unreact'
        /** The reaction. */
        emoji: string
      }
  )
/** A channel was read, up to a message. */
export type OutgoingRead = OutboxRecord & {
  /** Tells it from other operations. */
  type: 'read'
  /** The last message that was read; without it all that the server has were. */
  messageId?: string | undefined
  /** The message's number: of two reads the one that goes further counts. */
  seq?: number | undefined
}
/** An operation of the user that the server does not have yet. */
export type OutboxOperation = Outgoing | OutgoingChange | OutgoingRead

/** The last user of a server: enough to show and queue their actions without a network. */
export type StoredSession = {
  /** The app that the user belongs to. */
  appId: string
  /** The user. */
  user: TokenResult['user']
}

/** The key of an owner's outbox and snapshots: two servers may have the same apps and users. */
export const ownerOf = (url: string, { appId, user }: StoredSession) =>
  `${url.replace(/\/+$/, '')} ${appId}:${user.id}`

/** The same owner before their first token, which says the app. */
export const withoutApp = (owner: string) => owner.replace(/ .*?:/, ' :')

/** Where operations wait. `owner` identifies a user of an app of a server. */
export type OutboxStorage = {
  /**
   * The owner's operations in any order, each exactly as it was put: all of its fields, also those
   * that a newer build of the application has added, and no others, as they are sent.
   */
  load: (owner: string) => Promise<OutboxOperation[]>
  /** Adds an operation, or replaces the one with its `clientId`. */
  put: (owner: string, operation: OutboxOperation) => Promise<void>
  /** Removes an operation, if it is there. */
  delete: (owner: string, clientId: string) => Promise<void>
  /** The session of a user of a server, by a key that contains both. Optional. */
  session?: {
    load: (key: string) => Promise<StoredSession | undefined>
    put: (key: string, session: StoredSession) => Promise<void>
    delete: (key: string) => Promise<void>
  }
  /** The name under which other tabs have the same storage; undefined if they do not. */
  sharedAs?: string
}

/** Where a client stores its outbox: by default in IndexedDB if there is one. */
export function createStorage(
  choice: 'indexeddb' | 'memory' | OutboxStorage = browser.indexedDB ? 'indexeddb' : 'memory',
): OutboxStorage {
  if (choice === 'indexeddb') return indexedDbStorage()
  return choice === 'memory' ? memoryStorage() : choice
}

/** Stores operations in memory: they are lost when the page or process ends. */
export function memoryStorage(): OutboxStorage {
  const byOwner = new Map<string, Map<string, OutboxOperation>>()
  const sessions = new Map<string, StoredSession>()
  const operationsOf = (owner: string) => {
    const operations = byOwner.get(owner) ?? new Map<string, OutboxOperation>()
    byOwner.set(owner, operations)
    return operations
  }
  return {
    load: async (owner) => [...operationsOf(owner).values()],
    put: async (owner, operation) => {
      operationsOf(owner).set(operation.clientId, operation)
    },
    delete: async (owner, clientId) => void operationsOf(owner).delete(clientId),
    session: {
      load: async (key) => sessions.get(key),
      put: async (key, session) => void sessions.set(key, session),
      delete: async (key) => void sessions.delete(key),
    },
  }
}

/** Stores operations in IndexedDB: they survive reloads of the page. */
export function indexedDbStorage(name = 'parley-outbox'): OutboxStorage {
  const run = openDatabase(name, (database) =>
    database
      .createObjectStore('messages', { keyPath: ['owner', 'clientId'] })
      .createIndex('owner', 'owner'),
  )
  return {
    sharedAs: name,
    load: async (owner) => {
      const rows = await run('readonly', (messages) => messages.index('owner').getAll(owner))
      // Only `put` writes here; checked by the outbox.
      return (rows as (OutboxOperation & { owner: string })[]).map(
        ({ owner: _, ...operation }) => operation,
      )
    },
    put: async (owner, operation) => {
      await run('readwrite', (messages) => messages.put({ ...operation, owner }))
    },
    delete: async (owner, clientId) => {
      await run('readwrite', (messages) => messages.delete([owner, clientId]))
    },
    session: {
      load: async (key) => {
        const row = await run('readonly', (messages) => messages.get([SESSIONS, key]))
        return (row as { session?: StoredSession } | undefined)?.session // as `put` writes it
      },
      put: async (key, session) => {
        await run('readwrite', (rows) => rows.put({ owner: SESSIONS, clientId: key, session }))
      },
      delete: async (key) => {
        await run('readwrite', (rows) => rows.delete([SESSIONS, key]))
      },
    },
  }
}

/** The owner of the sessions: none of a user, whose name has a colon. */
const SESSIONS = 'sessions'
