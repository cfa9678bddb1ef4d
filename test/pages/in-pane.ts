import type { Channel } from '@parley/client'
import type { Session } from '@parley/client/internal/playground/session'
import { createFakeChat, type FakeChatOptions } from '@parley/client/testing'
import { createElement } from 'react'

/** The channel that is open, with Ana and Ben in it. */
const CHANNEL = 'c'

/** The pane of a user in the playground, with a client in memory. */
export async function createPane({ channels = [], ...options }: FakeChatOptions = {}) {
  const { Pane } = await import('@parley/client/internal/playground/pane.tsx')
  const { createNetwork } = await import('@parley/client/internal/playground/network')
  const { createWritableStore } = await import('@parley/client/internal/playground/network')
  const open: Partial<Channel> & { id: string } = { id: CHANNEL, name: 'Kitchen' }
  const chat = createFakeChat({ ...options, channels: [open, ...channels] })
  const room = chat.channel(CHANNEL)
  const members = ['me', 'ana', 'ben'].map((userId) => ({
    ...{ userId, role: 'member' as const, joinedAt: '2026-01-01T00:00:00.000Z', custom: {} },
    user: { id: userId, name: `${userId[0]?.toUpperCase()}${userId.slice(1)} Sousa`, image: null },
  }))
  room.show({ members })
  const session: Session = {
    ...{ userId: 'me', client: chat, network: createNetwork('me'), drafts: new Map() },
    outbox: createWritableStore<ReturnType<Session['outbox']['getSnapshot']>>([]),
  }
  return {
    chat,
    room,
    session,
    element: createElement(Pane, { session, isShown: true, isAlone: true }),
  }
}
