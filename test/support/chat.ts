import {
  type ChatClient,
  type ChatClientOptions,
  createChatClient,
  type Store,
  type TokenResult,
} from '@parley/client'
import { onTestFinished } from 'vitest'
import { createProxy } from './network.ts'
import type { World } from './world.ts'

export const GROUP = { type: 'group', name: 'Talk' } as const

/** A chat client of a user, with a network of its own. */
export async function chatOf(
  world: World,
  userId: string,
  options: Partial<ChatClientOptions> = {},
) {
  const proxy = await createProxy(world.url)
  const mint = async (): Promise<TokenResult> => ({
    ...(await world.backend.tokens.create({ userId })),
    wsUrl: proxy.wsUrl,
  })
  const chat = createChatClient({ url: proxy.url, token: mint, ...options })
  onTestFinished(async () => {
    chat.disconnect()
    await proxy.stop()
  })
  return { chat, proxy, mint }
}

/** The same, connected. */
export async function liveChatOf(
  world: World,
  userId: string,
  options: Partial<ChatClientOptions> = {},
) {
  const one = await chatOf(world, userId, options)
  await one.chat.connect()
  return one
}

/**
 * Resolves once a store's snapshot satisfies the condition; after a while it fails with the
 * snapshot.
 */
export function until<Snapshot>(
  store: Store<Snapshot>,
  isSo: (snapshot: Snapshot) => boolean,
  milliseconds = 60_000,
): Promise<Snapshot> {
  return new Promise((resolve, reject) => {
    const fail = () =>
      settle(() =>
        reject(new Error(`still ${JSON.stringify(store.getSnapshot(), null, 1)?.slice(0, 3_000)}`)),
      )
    const timer = setTimeout(fail, milliseconds)
    const check = () => {
      const snapshot = store.getSnapshot()
      if (isSo(snapshot)) settle(() => resolve(snapshot))
    }
    const unsubscribe = store.subscribe(check)
    const settle = (end: () => void) => {
      clearTimeout(timer)
      unsubscribe()
      end()
    }
    check()
  })
}

export const ready = ({ status }: { status: string }) => status === 'ready'
export const texts = ({ items }: { items: readonly { text: string }[] }) =>
  items.map(({ text }) => text)
export const isLive = (chat: ChatClient) =>
  until(chat.connection, ({ status }) => status === 'live')
export const isOffline = (chat: ChatClient) =>
  until(chat.connection, ({ status }) => status === 'offline')
