import {
  type Attachment,
  type ChatClient,
  createChatClient,
  indexedDbStorage,
  type OutboxOperation,
  type OutboxStorage,
  type Store,
  type TokenProvider,
} from '@parley/client'
import { indexedDbSnapshots } from '@parley/client/snapshots'
import { createContext, useContext } from 'react'
import { createNetwork, createWritableStore, type Network } from './network.ts'
import { recordCalls } from './wire-calls.ts'
import type { WireRecorder } from './wire-log.ts'
import { recordOutbox } from './wire-outbox.ts'
import { recordSockets } from './wire-sockets.ts'

/** The server's address: the folder above this page. */
export const serverUrl = new URL('..', location.href).href.replace(/\/$/, '')
/** Its WebSocket. The address in the token may use another name for this machine. */
const wsUrl = `${serverUrl.replace(/^http/, 'ws')}/connection/websocket`

/** A message that was written and not sent. */
export type MessageDraft = { text: string; attachments: Attachment[] }

/** One of the users of this page. */
export type Session = {
  userId: string
  client: ChatClient
  network: Network
  /** The operations that wait to be sent, oldest first. */
  outbox: Store<readonly OutboxOperation[]>
  /** By the key of their composer. */
  drafts: Map<string, MessageDraft>
}

/** The client of a user. What it does is recorded for the wire view. */
export function createSession(userId: string, recorder: WireRecorder): Session {
  const network = createNetwork(userId)
  const { storage, outbox } = observeStorage(indexedDbStorage('parley-playground'))
  const recordedFetch = recordCalls(network.fetch, recorder)
  const client = createChatClient({
    url: serverUrl,
    userId,
    token: tokenOf(userId, recordedFetch),
    snapshots: indexedDbSnapshots(),
    storage: recordOutbox(storage, recorder),
    fetch: recordedFetch,
    webSocket: recordSockets(network.webSocket, recorder),
  })
  return { userId, client, network, outbox, drafts: new Map() }
}

/** Gets tokens from the playground's server, as an app gets them from its own backend. */
export const tokenOf =
  (userId: string, via: typeof fetch = fetch): TokenProvider =>
  async () => {
    const response = await via('token', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ userId }),
    })
    const body = await response.json()
    if (!response.ok) throw new Error(`unable to get a token for ${userId}: ${body.error.message}`)
    return { ...body, wsUrl }
  }

/** A storage whose content is also a store. It changes only after the content is saved. */
function observeStorage(storage: OutboxStorage) {
  const outbox = createWritableStore<readonly OutboxOperation[]>([])
  const others = (clientId: string) =>
    outbox.getSnapshot().filter((message) => message.clientId !== clientId)
  return {
    outbox,
    storage: {
      ...storage,
      load: async (owner) => {
        const messages = await storage.load(owner)
        outbox.set(messages)
        return messages
      },
      put: async (owner, message) => {
        await storage.put(owner, message)
        const messages = [...others(message.clientId), message]
        outbox.set(messages.sort((a, b) => a.createdAt.localeCompare(b.createdAt)))
      },
      delete: async (owner, clientId) => {
        await storage.delete(owner, clientId)
        outbox.set(others(clientId))
      },
    } satisfies OutboxStorage,
  }
}

export const SessionContext = createContext<Session | null>(null)

/** The session of the pane around a component. */
export function useSession(): Session {
  const session = useContext(SessionContext)
  if (!session) throw new Error('useSession needs a SessionContext above')
  return session
}
