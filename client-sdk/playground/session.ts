import {
  type ChatClient,
  createChatClient,
  indexedDbStorage,
  type OutboxStorage,
  type Outgoing,
  type Store,
  type TokenProvider,
} from '@parley/client'
import { createContext, useContext } from 'react'
import { createNetwork, createSettable, type Network } from './network.ts'

/** Where the server is: the folder above the page. */
export const serverUrl = new URL('..', location.href).href.replace(/\/$/, '')
/** The same for sockets: the token's address may name this machine otherwise. */
const wsUrl = `${serverUrl.replace(/^http/, 'ws')}/connection/websocket`

/** One of the users that this page plays. */
export type Session = {
  userId: string
  client: ChatClient
  network: Network
  /** What waits in the outbox, oldest first. */
  waiting: Store<readonly Outgoing[]>
  /** What was typed and not sent, by place. */
  drafts: Map<string, string>
}

export function createSession(userId: string): Session {
  const network = createNetwork()
  const { storage, waiting } = watched(indexedDbStorage('parley-playground'))
  const client = createChatClient({
    url: serverUrl,
    token: tokenOf(userId, network.fetch),
    storage,
    fetch: network.fetch,
    webSocket: network.webSocket,
  })
  return { userId, client, network, waiting, drafts: new Map() }
}

/** Asks the server for a token, as an application's backend would be asked. */
export const tokenOf =
  (userId: string, via: typeof fetch = fetch): TokenProvider =>
  async () => {
    const response = await via('token', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ userId }),
    })
    if (!response.ok)
      throw new Error(`there is no token for ${userId}: ${(await response.json()).error.message}`)
    return { ...(await response.json()), wsUrl }
  }

/** A storage that tells what is in it: what is told is kept, also when the page is left now. */
function watched(storage: OutboxStorage) {
  const waiting = createSettable<readonly Outgoing[]>([])
  const others = (clientId: string) =>
    waiting.getSnapshot().filter((kept) => kept.clientId !== clientId)
  return {
    waiting,
    storage: {
      load: async (owner) => {
        const kept = await storage.load(owner)
        waiting.set(kept)
        return kept
      },
      put: async (owner, message) => {
        await storage.put(owner, message)
        waiting.set(
          [...others(message.clientId), message].sort((a, b) =>
            a.createdAt.localeCompare(b.createdAt),
          ),
        )
      },
      delete: async (owner, clientId) => {
        await storage.delete(owner, clientId)
        waiting.set(others(clientId))
      },
    } satisfies OutboxStorage,
  }
}

export const SessionContext = createContext<Session | null>(null)

/** Whose pane this is. */
export function useSession(): Session {
  const session = useContext(SessionContext)
  if (!session) throw new Error('there is no pane above')
  return session
}
