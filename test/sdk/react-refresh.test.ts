import { createRequire } from 'node:module'
import type { ChatClient } from '@parley/client'
import { ChatProvider, useChatClient, useMessages } from '@parley/client/react'
import { act, createElement, type FunctionComponent, StrictMode, useState } from 'react'
import { expect, onTestFinished, test, vi } from 'vitest'
import { useDom } from '../support/dom.ts'
import { scriptedChat } from '../support/scripted/index.ts'
import { patient } from '../support/until.ts'

/** Hot reload, by the runtime of React that bundlers use for it. */

const window = useDom({ acts: true })
const require = createRequire(import.meta.url)

/** The functions that bundlers call; `signature` changes with the hooks of a component. */
type Refresh = {
  injectIntoGlobalHook: (scope: object) => void
  register: (component: FunctionComponent, id: string) => void
  setSignature: (component: FunctionComponent, signature: string) => void
  performReactRefresh: () => object | null
}

/** A React DOM of its own: it knows of the runtime only if that was there before. */
function loadReact() {
  const refresh = require('react-refresh/runtime') as Refresh
  refresh.injectIntoGlobalHook(globalThis)
  for (const file of Object.keys(require.cache))
    if (file.includes('/react-dom/')) delete require.cache[file]
  const dom = require('react-dom/client') as typeof import('react-dom/client')
  Reflect.deleteProperty(globalThis, '__REACT_DEVTOOLS_GLOBAL_HOOK__')
  return { refresh, dom }
}

const { refresh, dom } = loadReact()

test('hot reload keeps the client, its connection and rooms, also if hooks changed', async () => {
  const { scripted, channel, network, minted, count } = scriptedChat()
  channel('c').send('hello')
  const clients = new Set<ChatClient>()
  let mounts = 0
  const Messages = () => useMessages('c').items.map(({ text }) => text)
  /** The component as a version of its file exports it. */
  const load = (version: string, useMore: () => unknown = () => {}) => {
    const App: FunctionComponent = () => {
      const chat = useChatClient({ ...scripted, userId: 'me' })
      useState(() => {
        mounts += 1
      })
      useMore()
      if (!chat) return 'nobody'
      clients.add(chat)
      return createElement(ChatProvider, { client: chat }, version, ' ', createElement(Messages))
    }
    refresh.register(App, 'App')
    refresh.setSignature(App, `useChatClient useState ${useMore}`)
    return App
  }
  const container = window.document.createElement('div')
  const root = dom.createRoot(container as never) // an element of another DOM
  onTestFinished(() => act(() => root.unmount()))
  const shows = (text: string) =>
    vi.waitFor(() => act(() => expect(container.textContent).toBe(text)), patient)
  const app = load('first')
  await act(() => root.render(createElement(StrictMode, null, createElement(app))))
  await shows('first hello')
  const before = { mounts, sockets: network.opened, tokens: minted(), loads: count(/sync$/) }

  load('edited')
  await act(() => refresh.performReactRefresh())
  await shows('edited hello')
  expect(mounts).toBe(before.mounts)
  load('with another hook', () => useState(0))
  await act(() => refresh.performReactRefresh())
  await shows('with another hook hello')
  expect(mounts).toBeGreaterThan(before.mounts)
  const [client] = clients
  expect(clients.size).toBe(1)
  // Longer than it is kept without a component.
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  expect(client?.connection.getSnapshot().status).toBe('live')
  const after = { mounts: before.mounts, sockets: network.opened, tokens: minted() }
  expect({ ...after, loads: count(/sync$/) }).toEqual(before)
})
