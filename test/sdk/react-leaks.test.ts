import type { ChatClient, Store } from '@parley/client'
import {
  ChatProvider,
  useLastActive,
  useMembers,
  useMessages,
  usePins,
  usePresence,
  useReads,
  useStore,
  useThread,
  useTyping,
} from '@parley/client/react'
import { act, createElement, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { expect, test } from 'vitest'
import { useDom } from '../support/dom.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

const window = useDom({ acts: true })

const rootOf = () => createRoot(window.document.createElement('div') as never) // of another DOM
/** The same component, mounted twice as StrictMode does. */
const strictly = (chat: ChatClient, Component: () => string) =>
  createElement(
    StrictMode,
    null,
    createElement(ChatProvider, { client: chat }, createElement(Component)),
  )

test('after unmount no hook keeps a topic, a timer or a load, even in StrictMode', async () => {
  const clock = stoppedClock()
  const { chat, channel, topics, requests, emit, cut, mend } = scriptedChat()
  const talk = channel('c')
  const { id } = talk.send('root')
  await chat.connect()
  const shown: string[] = []
  const Everything = () => {
    const { items } = useMessages('c')
    const sizes = [useMembers('c').items, usePins('c').items, useThread('c', id).items]
    const reads = Object.keys(useReads('c').byUser).length
    const people = [useTyping('c').typists.length, usePresence('ana'), useLastActive('ana')]
    const text = [items.length, ...sizes.map(({ length }) => length), reads, people[0]].join()
    shown.push(text)
    return text
  }
  const timers: number[] = []
  talk.pin(id)
  for (const _ of ['first', 'second']) {
    const root = rootOf()
    await act(async () => root.render(strictly(chat, Everything)))
    talk.type('ana')
    await act(() => clock.forward(1))
    await act(quiet)
    expect(shown.at(-1)).toBe('1,2,1,0,2,1')
    expect(topics()).toEqual(['chat:app:c', 'user:app:me'])
    act(() => root.unmount())
    await clock.forward(60_000)
    expect(topics()).toEqual(['user:app:me'])
    timers.push(clock.timers())
  }
  expect(timers[1]).toBe(timers[0])

  requests.length = 0
  const renders = shown.length
  talk.send('nobody looks')
  emit('presence.online', { userId: 'ana', lastActiveAt: new Date(0).toISOString() })
  cut()
  await clock.forward(1)
  mend()
  await clock.forward(60_000)
  expect(requests).toEqual(['POST /api/sync'])
  expect(shown.length).toBe(renders)
})

test('a component subscribes to a store once, to the next if it changes, and leaves', async () => {
  const { chat } = scriptedChat()
  const listeners = { one: 0, two: 0 }
  const counted = (name: keyof typeof listeners): Store<string> => ({
    getSnapshot: () => name,
    subscribe: () => {
      listeners[name] += 1
      return () => {
        listeners[name] -= 1
      }
    },
  })
  const stores = { one: counted('one'), two: counted('two') }
  const One = () => useStore(stores.one)
  const Two = () => useStore(stores.two)
  const root = rootOf()
  await act(async () => root.render(strictly(chat, One)))
  expect(listeners).toEqual({ one: 1, two: 0 })
  await act(async () => root.render(strictly(chat, Two)))
  expect(listeners).toEqual({ one: 0, two: 1 })
  act(() => root.unmount())
  expect(listeners).toEqual({ one: 0, two: 0 })
})

test('a component that changes its channel leaves the old one', async () => {
  const clock = stoppedClock()
  const { chat, channel, topics } = scriptedChat()
  for (const id of ['c', 'd']) channel(id).send(`in ${id}`)
  const root = rootOf()
  const texts: string[] = []
  let shown = ''
  // Rendered again, not mounted again.
  const Texts = () => {
    const { items } = useMessages(shown)
    texts.push(items.map(({ text }) => text).join())
    return ''
  }
  const render = (channelId: string) => {
    shown = channelId
    return act(async () => root.render(strictly(chat, Texts)))
  }
  await render('c')
  await act(quiet)
  await render('d')
  await act(quiet)
  await clock.forward(60_000)
  expect([texts.at(-1), topics()]).toEqual(['in d', ['chat:app:d', 'user:app:me']])
  act(() => root.unmount())
})

test('a key press in a component that changes its channel counts for the new one', async () => {
  const { chat, channel, requests } = scriptedChat()
  for (const id of ['c', 'd']) channel(id)
  await chat.connect()
  const root = rootOf()
  let press = () => {}
  let channelId = 'c'
  const Typing = () => {
    press = useTyping(channelId).keystroke
    return ''
  }
  await act(async () => root.render(strictly(chat, Typing)))
  channelId = 'd'
  await act(async () => root.render(strictly(chat, Typing)))
  press()
  await act(quiet)
  expect(requests.filter((request) => request.includes('typing'))).toEqual([
    'POST /api/channels/d/typing',
  ])
  act(() => root.unmount())
})

test('a provider that is given another client connects that one', async () => {
  const [one, two] = [scriptedChat().chat, scriptedChat().chat]
  const root = rootOf()
  const Nothing = () => ''
  for (const chat of [one, two]) {
    await act(async () => root.render(strictly(chat, Nothing)))
    await act(quiet)
  }
  const statuses = [one, two].map(({ connection }) => connection.getSnapshot().status)
  expect(statuses).toEqual(['live', 'live'])
  act(() => root.unmount())
})
