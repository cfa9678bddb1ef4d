import { useEffect, useRef, useState } from 'react'
import { type ChatClient, type ChatClientOptions, createChatClient } from '../index.ts'

/**
 * Options of `useChatClient`: those of `createChatClient`, among them `snapshots` and `storage`,
 * and whose client it is. Only another `url` or `userId` makes another client. Of `token` and
 * `onLogout` the latest are called; the other options count when the client is made, so make
 * `indexedDbSnapshots()` once, outside of components.
 */
export type UseChatClientOptions = Omit<ChatClientOptions, 'userId'> & {
  /** The user who is logged in, as your own session says; undefined while nobody is. */
  userId: string | undefined
  /**
   * Called when the user has logged out, here or in another tab: log them out of the page, too, so
   * that `userId` is undefined until the next login, which gets another client.
   */
  onLogout?: (() => void) | undefined
}

type SharedClient = {
  client: ChatClient
  token: ChatClientOptions['token']
  users: number
  timer?: ReturnType<typeof setTimeout> | undefined
}
const clients = new Map<string, SharedClient>()
/** A component may be mounted again at once, as StrictMode and hot reload do. */
const LINGER_MS = 1_000

/**
 * The client of a user, shared by all components that ask for it. It is disconnected once no
 * component uses it, and at once when they ask for another user. Undefined before the first effect,
 * on a server, while nobody is logged in, and after a logout, here or in another tab.
 */
export function useChatClient(options: UseChatClientOptions): ChatClient | undefined {
  const { url, userId, token, onLogout } = options
  const latestOnLogout = useRef(onLogout)
  const [current, setCurrent] = useState<{ key: string; client: ChatClient }>()
  const key = userId === undefined ? undefined : `${url} ${userId}`
  // The other options count when the client is made.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  useEffect(() => {
    if (key === undefined) return
    const shared = acquire(key, options)
    setCurrent({ key, client: shared.client })
    const unsubscribe = shared.client.on('logout', () => {
      setCurrent(undefined)
      latestOnLogout.current?.()
    })
    return () => {
      unsubscribe()
      release(key, shared)
      // It may have ended before this component asks for one of this user again.
      setCurrent(undefined)
    }
  }, [key])
  useEffect(() => {
    latestOnLogout.current = onLogout
    const shared = key === undefined ? undefined : clients.get(key)
    if (shared) shared.token = token
  }, [key, token, onLogout])
  return current?.key === key ? current?.client : undefined
}

function acquire(key: string, options: UseChatClientOptions): SharedClient {
  for (const [other, shared] of clients) {
    if (other !== key && shared.users === 0) end(other, shared)
  }
  const shared = clients.get(key) ?? create(key, options)
  clients.set(key, shared)
  clearTimeout(shared.timer)
  shared.users += 1
  return shared
}

function create(key: string, options: UseChatClientOptions): SharedClient {
  const client = createChatClient({ ...options, token: () => shared.token() })
  // It has ended: who logs in again gets another.
  client.on('logout', () => forget(key, shared))
  const shared: SharedClient = { client, token: options.token, users: 0 }
  return shared
}

function release(key: string, shared: SharedClient) {
  shared.users -= 1
  if (shared.users === 0) shared.timer = setTimeout(() => end(key, shared), LINGER_MS)
}

function end(key: string, shared: SharedClient) {
  clearTimeout(shared.timer)
  forget(key, shared)
  shared.client.disconnect()
}

function forget(key: string, shared: SharedClient) {
  if (clients.get(key) === shared) clients.delete(key)
}
