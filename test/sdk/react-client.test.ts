import { type ChatClient, select, type TokenResult } from '@parley/client'
import {
  ChatProvider,
  useChannelInfo,
  useChatClient,
  useMessages,
  useSelect,
  useThread,
  useTyping,
  useUnread,
} from '@parley/client/react'
import { act, createElement, StrictMode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { renderToString } from 'react-dom/server'
import { expect, onTestFinished, test, vi } from 'vitest'
import { GROUP, isLive, liveChatOf, until } from '../support/chat.ts'
import { useDom } from '../support/dom.ts'
import { createProxy } from '../support/network.ts'
import { scriptedChat } from '../support/scripted/index.ts'
import { patient } from '../support/until.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()
const window = useDom({ acts: true })

function mount() {
  const container = window.document.createElement('div')
  const root = createRoot(container as never) // an element of another DOM
  onTestFinished(() => act(() => root.unmount()))
  return { container, root }
}

/** A page that chats as the user who is logged in; its clients are noted. */
async function loginPage() {
  const proxy = await createProxy(world().url)
  onTestFinished(() => proxy.stop())
  const clients = new Set<ChatClient>()
  const asked: string[] = []
  function Page({ userId, onLogout }: { userId: string | undefined; onLogout?: () => void }) {
    const chat = useChatClient({
      onLogout,
      url: proxy.url,
      userId,
      token: async (): Promise<TokenResult> => {
        asked.push(userId ?? '')
        const token = await world().backend.tokens.create({ userId: userId ?? '' })
        return { ...token, wsUrl: proxy.wsUrl }
      },
    })
    if (!chat) return 'nobody'
    clients.add(chat)
    return createElement(ChatProvider, { client: chat }, createElement(Shown))
  }
  const Shown = () => `unread ${useUnread().total}`
  const page = (userId: string | undefined, onLogout?: () => void) => {
    const props = { userId, onLogout }
    return createElement(StrictMode, null, createElement(Page, props), createElement(Page, props))
  }
  return { page, clients, asked, proxy }
}

test('components share one client of a user, until they are gone or the user changes', async () => {
  await world().users('ana', 'ben')
  const { page, clients, asked, proxy } = await loginPage()
  const { container, root } = mount()
  const statuses = () =>
    [...clients].map((chat) => chat.connection.getSnapshot().status).map(String)
  expect(renderToString(page('ana'))).toBe('nobody<!-- -->nobody')
  await act(() => root.render(page(undefined)))
  expect([container.textContent, clients.size]).toEqual(['nobodynobody', 0])
  await act(() => root.render(page('ana')))
  await vi.waitFor(() => act(() => expect(statuses()).toEqual(['live'])), patient)
  expect([container.textContent, asked, proxy.sockets]).toEqual(['unread 0unread 0', ['ana'], 1])

  await act(() => root.render(page('ben')))
  expect(statuses()[0]).toBe('offline')
  await vi.waitFor(() => act(() => expect(statuses()).toEqual(['offline', 'live'])), patient)
  expect(asked).toEqual(['ana', 'ben'])
  await act(() => root.render(null))
  await vi.waitFor(() => expect(statuses()).toEqual(['offline', 'offline']), patient)
})

test('a user who is back after a while has one client, a new one', async () => {
  await world().users('ana')
  const { page, clients } = await loginPage()
  const { root } = mount()
  const become = (expected: string[]) => {
    const statuses = () => [...clients].map((chat) => chat.connection.getSnapshot().status)
    return vi.waitFor(() => act(() => expect(statuses()).toEqual(expected)), patient)
  }
  await act(() => root.render(page('ana')))
  await become(['live'])
  await act(() => root.render(page(undefined)))
  await become(['offline'])
  await act(() => root.render(page('ana')))
  await become(['offline', 'live'])
})

test('a login right after a logout gets another client', async () => {
  await world().users('ana')
  const { page, clients } = await loginPage()
  const { root } = mount()
  const last = () => [...clients].at(-1)?.connection.getSnapshot().status
  await act(() => root.render(page('ana')))
  await vi.waitFor(() => act(() => expect(last()).toBe('live')), patient)
  await act(async () => [...clients][0]?.logout())
  await act(() => root.render(page(undefined)))
  await act(() => root.render(page('ana')))
  expect(clients.size).toBe(2)
  await vi.waitFor(() => act(() => expect(last()).toBe('live')), patient)
})

test('after a logout no user is shown, and what is mounted then has a new client', async () => {
  await world().users('ana')
  const { page, clients } = await loginPage()
  const { container, root } = mount()
  const last = () => [...clients].at(-1)?.connection.getSnapshot().status
  await act(() => root.render(page('ana')))
  await vi.waitFor(() => act(() => expect(last()).toBe('live')), patient)
  await act(async () => [...clients][0]?.logout())
  expect(container.textContent).toBe('nobodynobody')
  await act(() => root.render(null))
  await act(() => root.render(page('ana')))
  expect(clients.size).toBe(2)
  await vi.waitFor(() => act(() => expect(last()).toBe('live')), patient)
  expect(container.textContent).toBe('unread 0unread 0')
})

test('a page is notified of a logout, and lets the same user in again', async () => {
  await world().users('ana')
  const { page, clients } = await loginPage()
  const { container, root } = mount()
  let login = (_: string) => {}
  const loggedOut = new Set<string>()
  const Door = ({ name }: { name: string }) => {
    const [userId, setUserId] = useState<string | undefined>('ana')
    login = setUserId
    const onLogout = () => {
      loggedOut.add(name)
      setUserId(undefined)
    }
    return page(userId, onLogout)
  }
  const last = () => [...clients].at(-1)?.connection.getSnapshot().status
  for (const name of ['before', 'now']) await act(() => root.render(createElement(Door, { name })))
  await vi.waitFor(() => act(() => expect(last()).toBe('live')), patient)
  await act(async () => [...clients][0]?.logout())
  expect([container.textContent, [...loggedOut]]).toEqual(['nobodynobody', ['now']])
  await act(() => login('ana'))
  expect(clients.size).toBe(2)
  await vi.waitFor(() => act(() => expect(last()).toBe('live')), patient)
  expect(container.textContent).toBe('unread 0unread 0')
})

test('useSelect rerenders only when its part changes, even to a new object', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const { chat } = await liveChatOf(world(), 'ben')
  const room = chat.channel(channelId)
  let renders = 0
  const Names = () => {
    renders += 1
    return useSelect(room.messages, ({ items }) => items.map(({ user }) => user.name)).join()
  }
  const { container, root } = mount()
  await act(() => root.render(createElement(Names)))
  await act(() => until(room.messages, ({ status }) => status === 'ready'))
  const message = await ana.messages.send({ channelId, text: 'one' })
  await vi.waitFor(() => act(() => expect(container.textContent).toBe('ana')), patient)
  const before = renders
  const reacted = select(room.messages, ({ items }) => items[0]?.reactions.length)
  await ana.reactions.add({ channelId, messageId: message.id, emoji: '👍' })
  await act(() => until(reacted, (count) => count === 1))
  expect([container.textContent, renders]).toEqual(['ana', before])
})

test('hooks accept ids that are not known yet, and a thread can do what a room can', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const root = await ana.messages.send({ channelId, text: 'root' })
  const { chat } = await liveChatOf(world(), 'ben')
  let thread: ReturnType<typeof useThread> | undefined
  const Thread = ({ id, parentId }: { id?: string; parentId?: string }) => {
    thread = useThread(id, parentId)
    const { items, status } = useMessages(id, { replies: false })
    const { typists, keystroke } = useTyping(id)
    if (!id) keystroke()
    const { channel, status: known } = useChannelInfo(id)
    const shown = thread.items.map(({ text, reactions }) => text + reactions.length)
    const statuses = [known, status, items.length, typists.length, thread.status]
    return [channel?.name, ...statuses, ...shown].join(' ')
  }
  const page = mount()
  const shows = (text: string) =>
    vi.waitFor(() => act(() => expect(page.container.textContent).toBe(text)), patient)
  const render = (props: { id?: string; parentId?: string }) =>
    act(() =>
      page.root.render(createElement(ChatProvider, { client: chat }, createElement(Thread, props))),
    )
  await render({})
  await shows(' idle idle 0 0 idle')
  expect(thread).toMatchObject({ hasOlder: false, hasNewer: false })
  expect(() => thread?.send({ text: 'lost' })).toThrow('no channel is chosen')
  await render({ id: channelId })
  await shows('Talk ready ready 1 0 idle')
  expect(() => thread?.send({ text: 'lost' })).toThrow('no thread is chosen')
  await render({ id: channelId, parentId: root.id })
  await shows('Talk ready ready 1 0 ready')
  const out = await act(async () => thread?.send({ text: 'reply' }).sent)
  await act(async () => thread?.react(out?.id ?? '', '👍'))
  await shows('Talk ready ready 1 0 ready reply1')
  await act(async () => void (await thread?.edit(out?.id ?? '', { text: 'edited' })))
  await shows('Talk ready ready 1 0 ready edited1')
  await act(async () => thread?.markRead())
  await act(async () => thread?.delete(out?.id ?? ''))
  await shows('Talk ready ready 1 0 ready')
  const second = await ana.messages.send({ channelId, text: 'second root' })
  await render({ id: channelId, parentId: second.id })
  const there = await act(async () => thread?.send({ text: 'there' }).sent)
  expect(there?.parentId).toBe(second.id)
  await act(async () => thread?.delete(there?.id ?? ''))
  await isLive(chat)
})

test('actions are the same functions until what they act on changes', async () => {
  const { chat, channel } = scriptedChat()
  channel('c')
  let shown: ReturnType<typeof useMessages> | undefined
  const Messages = ({ replies }: { replies: boolean }) => {
    shown = useMessages('c', { replies })
    return shown.status
  }
  const { root } = mount()
  const loadOlder = async (replies: boolean) => {
    const messages = createElement(Messages, { replies })
    await act(() => root.render(createElement(ChatProvider, { client: chat }, messages)))
    return shown?.loadOlder
  }
  const all = await loadOlder(true)
  expect(await loadOlder(true)).toBe(all)
  expect(await loadOlder(false)).not.toBe(all)
})
