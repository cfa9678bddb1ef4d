import type { ChatClient } from '@parley/client'
import {
  ChatProvider,
  useChannels,
  useConnection,
  useMe,
  useMessages,
  useUnread,
} from '@parley/client/react'
import { act, createElement, StrictMode, useEffect } from 'react'
import { createRoot } from 'react-dom/client'
import { renderToString } from 'react-dom/server'
import { expect, onTestFinished, test, vi } from 'vitest'
import { chatOf, GROUP, isLive } from '../support/chat.ts'
import { useDom } from '../support/dom.ts'
import { patient } from '../support/until.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()
const window = useDom({ acts: true })

/** What the page has shown, as JSON: an entry for each time that React has committed it. */
const commits: string[] = []
function Conversation({ channelId }: { channelId: string }) {
  const [messages, list] = [useMessages(channelId), useChannels({ type: 'group' })]
  const [{ items, status }, { items: channels, totalUnread }] = [messages, list]
  const [connection, me, unread] = [useConnection(), useMe(), useUnread()]
  useEffect(() => void commits.push(JSON.stringify([messages, list, connection, me, unread])))
  const texts = `[${items.map(({ text }) => text)}]`
  const listed = `[${channels.map(({ unreadCount }) => unreadCount)}]`
  const counts = [listed, totalUnread, unread.total]
  return [me?.id ?? 'nobody', connection.status, status, texts, ...counts].join(' ')
}
const page = (chat: ChatClient, channelId: string) =>
  createElement(
    StrictMode,
    null,
    createElement(ChatProvider, { client: chat }, createElement(Conversation, { channelId })),
  )

test('hooks follow the stores, and mounting twice in StrictMode opens one socket', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  // A channel of another type, which is not listed.
  await ana.channels.create({ type: 'messaging', memberIds: ['ben'] })
  const { chat, proxy } = await chatOf(world(), 'ben')
  const container = window.document.createElement('div')
  const root = createRoot(container as never) // an element of another DOM
  onTestFinished(() => act(() => root.unmount()))
  await act(() => root.render(page(chat, channelId)))
  await act(() => isLive(chat))
  await vi.waitFor(
    () => act(() => expect(container.textContent).toBe('ben live ready [] [0] 0 0')),
    patient,
  )
  await ana.messages.send({ channelId, text: 'hello' })
  await vi.waitFor(
    () => act(() => expect(container.textContent).toBe('ben live ready [hello] [1] 1 1')),
    patient,
  )
  expect(proxy.sockets).toBe(1)
  const before = commits.length
  await act(async () => void (await chat.api.users.list()))
  const since = commits.slice(before - 1)
  expect(since.filter((commit, index) => commit === since[index - 1])).toEqual([])
})

test('on a server, hooks render initial snapshots and make no requests', async () => {
  const { chat, proxy } = await chatOf(world(), 'ben')
  expect(renderToString(page(chat, '019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c81'))).toBe(
    'nobody offline idle [] [] 0 0',
  )
  await new Promise(setImmediate)
  expect(proxy.requests).toEqual([])
})
