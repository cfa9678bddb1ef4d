import type { ChatClient } from '@parley/client'
import { ChatProvider, useChatClient, useUnread } from '@parley/client/react'
import { act, createElement, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { expect, onTestFinished, test } from 'vitest'
import { useDom } from '../support/dom.ts'
import { scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

const window = useDom({ acts: true })

function mount() {
  const root = createRoot(window.document.createElement('div') as never) // of another DOM
  onTestFinished(() => act(() => root.unmount()))
  return root
}

test('a client stays for a second without a component, and then disconnects', async () => {
  const clock = stoppedClock()
  const { scripted } = scriptedChat()
  const clients = new Set<ChatClient>()
  const Shown = () => `unread ${useUnread().total}`
  const Page = () => {
    const chat = useChatClient({ ...scripted, userId: 'me' })
    if (!chat) return null
    clients.add(chat)
    return createElement(ChatProvider, { client: chat }, createElement(Shown))
  }
  const root = mount()
  const showFor = async (isShown: boolean, ms: number) => {
    await act(() => root.render(isShown ? createElement(Page) : null))
    await act(() => clock.forward(ms))
    return [...clients].map((chat) => chat.connection.getSnapshot().status)
  }
  expect(await showFor(true, 10)).toEqual(['live'])
  expect(await showFor(false, 999)).toEqual(['live'])
  expect(await showFor(true, 10_000)).toEqual(['live'])
  expect(await showFor(false, 999)).toEqual(['live'])
  await clock.forward(1)
  expect(await showFor(false, 0)).toEqual(['offline'])
  expect(await showFor(true, 10)).toEqual(['offline', 'live'])
  // No client is left to the next test.
  expect(await showFor(false, 1_000)).toEqual(['offline', 'offline'])
})

test('a client that is used again soon stays, and asks the provider given last', async () => {
  const clock = stoppedClock()
  const asked: string[] = []
  const clients = new Set<ChatClient>()
  const Page = ({ provider }: { provider: string }) => {
    const token = async () => {
      asked.push(provider)
      throw new Error('no token')
    }
    const chat = useChatClient({ url: 'http://chat', userId: 'me', token })
    if (chat) clients.add(chat)
    return null
  }
  const root = mount()
  const render = (provider?: string) =>
    act(() => root.render(provider === undefined ? null : createElement(Page, { provider })))
  for (const provider of ['first', undefined, 'second']) await render(provider)
  await clock.forward(5_000)
  for (const provider of [undefined, 'third', 'fourth']) await render(provider)
  expect(clients.size).toBe(1)
  const [chat] = clients
  await expect(chat?.api.users.list()).rejects.toMatchObject({ code: 'TOKEN_PROVIDER_FAILED' })
  expect(asked).toEqual(['fourth'])
  await render()
  await clock.forward(1_000)
})

test('no client of another user is shown, not even for a moment', async () => {
  const clock = stoppedClock()
  const { scripted } = scriptedChat()
  const shown = new Map<ChatClient, Set<string>>()
  const Page = ({ userId }: { userId: string }) => {
    const chat = useChatClient({ ...scripted, userId })
    if (chat) shown.set(chat, new Set(shown.get(chat)).add(userId))
    return null
  }
  const root = mount()
  for (const userId of ['ana', 'ben']) {
    await act(() => root.render(createElement(Page, { userId })))
    await act(() => clock.forward(10))
  }
  expect([...shown.values()].map((users) => [...users])).toEqual([['ana'], ['ben']])
  await act(() => root.render(null))
  await act(() => clock.forward(1_000))
})

test('the clients of two users who are shown side by side are both connected', async () => {
  const clock = stoppedClock()
  const clients = new Set<ChatClient>()
  const Page = ({ userId }: { userId: string }) => {
    const [{ scripted }] = useState(scriptedChat)
    const token = async () => {
      const result = await scripted.token()
      return { ...result, user: { ...result.user, id: userId } }
    }
    const chat = useChatClient({ ...scripted, token, userId })
    if (!chat) return null
    clients.add(chat)
    return createElement(ChatProvider, { client: chat })
  }
  const root = mount()
  const pages = ['ana', 'ben'].map((userId) => createElement(Page, { key: userId, userId }))
  for (const shown of [1, 2]) {
    await act(() => root.render(pages.slice(0, shown)))
    await act(() => clock.forward(10_000))
  }
  const shown = [...clients].map(({ me, connection }) => [
    me.getSnapshot()?.id,
    connection.getSnapshot().status,
  ])
  expect(shown).toEqual([
    ['ana', 'live'],
    ['ben', 'live'],
  ])
  await act(() => root.render(null))
  await act(() => clock.forward(1_000))
})
