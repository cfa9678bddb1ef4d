import type { ChatClient, ConnectionState } from '@parley/client'
import { Connection } from '@parley/client/internal/realtime/connection'
import { Tokens } from '@parley/client/internal/realtime/tokens'
import { topics } from '@parley/contract'
import { Window } from 'happy-dom'
import { expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import {
  chatOf,
  GROUP,
  isLive,
  isOffline,
  liveChatOf,
  ready,
  texts,
  until,
} from '../support/chat.ts'
import { openClock } from '../support/clock.ts'
import { scriptedChat } from '../support/scripted/index.ts'
import { patient } from '../support/until.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()

const statusOf = (chat: ChatClient) => chat.connection.getSnapshot().status

/** Gives Node.js the events that a browser has of the page and of the network. */
function simulateBrowser() {
  const { document, Event } = new Window()
  const network = new EventTarget()
  const { addEventListener, removeEventListener } = network
  Object.assign(globalThis, {
    document,
    addEventListener: addEventListener.bind(network),
    removeEventListener: removeEventListener.bind(network),
  })
  onTestFinished(() => {
    for (const name of ['document', 'addEventListener', 'removeEventListener'])
      Reflect.deleteProperty(globalThis, name)
  })
  return {
    show: () => document.dispatchEvent(new Event('visibilitychange')),
    online: () => network.dispatchEvent(new globalThis.Event('online')),
    offline: () => network.dispatchEvent(new globalThis.Event('offline')),
    pagehide: () => network.dispatchEvent(new globalThis.Event('pagehide')),
  }
}

test('an application can cut off one client by passing its own fetch and WebSocket', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const network = { isOn: true, sockets: new Set<WebSocket>() }
  class SwitchedSocket extends WebSocket {
    constructor(url: string, protocols?: string | string[]) {
      super(url, protocols)
      network.sockets.add(this)
      if (!network.isOn) this.terminate()
    }
  }
  const switchedFetch = ((...given) =>
    network.isOn ? fetch(...given) : Promise.reject(new TypeError('switched off'))) as typeof fetch
  const { chat } = await liveChatOf(world(), 'ben', {
    fetch: switchedFetch,
    webSocket: SwitchedSocket as unknown as typeof globalThis.WebSocket, // the same interface
  })
  const room = chat.channel(channelId)
  room.watch()
  await until(room.messages, ready)
  network.isOn = false
  for (const socket of network.sockets) socket.terminate()
  await isOffline(chat)
  const out = room.send({ text: 'from here' })
  await expect(chat.api.channels.create({ ...GROUP })).rejects.toMatchObject({
    code: 'NETWORK_ERROR',
  })
  await ana.messages.send({ channelId, text: 'from there' })
  network.isOn = true
  await isLive(chat)
  await out.sent
  const shown = await until(room.messages, (shown) => ready(shown) && shown.items.length === 2)
  expect(texts(shown)).toEqual(['from there', 'from here'])
})

test.each(['show', 'online'] as const)(
  'a silently dead socket is detected soon after the event "%s", before the next ping',
  async (name) => {
    await world().users('ben')
    const events = simulateBrowser()
    const { chat, proxy } = await liveChatOf(world(), 'ben')
    proxy.deaden()
    const clock = openClock()
    await clock.forward(8_000)
    expect(statusOf(chat)).toBe('live')
    // All of them: a slow machine may be at its next attempt already.
    const states: ConnectionState[] = []
    chat.connection.subscribe(() => states.push(chat.connection.getSnapshot()))
    events[name]()
    // The client gives itself a second more where the machine has kept it from its timers.
    await clock.forward(6_050)
    expect(states[0]).toMatchObject({
      status: 'offline',
      lastError: { code: 'NETWORK_ERROR' },
      reconnectInMs: expect.any(Number),
    })
    events[name]()
    await isLive(chat)
    expect(proxy.sockets).toBe(2)
  },
)

test('showing the page keeps a working socket, and has no effect after disconnect()', async () => {
  await world().users('ben')
  const { show, online } = simulateBrowser()
  let frames = 0
  class CountingSocket extends WebSocket {
    override emit(name: string | symbol, ...details: unknown[]) {
      if (name === 'message') frames += 1
      return super.emit(name, ...details)
    }
  }
  const { chat, proxy } = await liveChatOf(world(), 'ben', {
    webSocket: CountingSocket as unknown as typeof globalThis.WebSocket, // the same interface
  })
  const before = frames
  show()
  await vi.waitUntil(() => frames > before, patient)
  const clock = openClock()
  await clock.forward(6_000)
  expect([statusOf(chat), proxy.sockets]).toEqual(['live', 1])
  chat.disconnect()
  const requests = proxy.requests.length
  show()
  online()
  await clock.forward(60_000)
  expect([statusOf(chat), proxy.requests.length]).toEqual(['offline', requests])
})

test('the client reconnects at once when the network returns, whatever its backoff', async () => {
  await world().users('ben')
  const { online } = simulateBrowser()
  const { chat, proxy } = await liveChatOf(world(), 'ben')
  const clock = openClock()
  proxy.cut()
  await isOffline(chat)
  const backoffMs = () => chat.connection.getSnapshot().reconnectInMs ?? 0
  for (let attempt = 0; attempt < 10 && backoffMs() <= 10_000; attempt++) {
    await clock.forward(backoffMs())
    await isOffline(chat)
  }
  expect(backoffMs()).toBeGreaterThan(10_000)
  proxy.mend()
  online()
  await isLive(chat)
})

test.each(['offline', 'pagehide'] as const)(
  'the event "%s" closes the socket at once, and "online" opens the next one',
  async (name) => {
    const events = simulateBrowser()
    const { chat, network } = scriptedChat()
    await chat.connect()
    events[name]()
    expect([statusOf(chat), network.opened]).toEqual(['offline', 1])
    events.online()
    await isLive(chat)
    expect(network.opened).toBe(2)
    chat.disconnect()
    events[name]()
    expect(chat.connection.getSnapshot().reconnectInMs).toBeNull()
  },
)

test('after disconnect() nothing is requested, sent or renewed until connect()', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  // Notes what the client begins. The network may still be working on earlier requests.
  const begun: string[] = []
  class NotedSocket extends WebSocket {
    constructor(url: string, protocols?: string | string[]) {
      super(url, protocols)
      begun.push('WebSocket')
    }
  }
  const { chat, proxy, mint } = await chatOf(world(), 'ben', {
    token: () => tokens(),
    fetch: ((...given) => {
      begun.push(String(given[0]))
      return fetch(...given)
    }) as typeof fetch,
    webSocket: NotedSocket as unknown as typeof globalThis.WebSocket, // the same interface
  })
  const tokens = async () => {
    begun.push('token')
    return mint()
  }
  await chat.connect()
  expect(begun).toEqual(
    expect.arrayContaining(['token', 'WebSocket', expect.stringContaining('/api/')]),
  )
  const room = chat.channel(channelId)
  room.watch()
  await until(room.messages, ready)
  proxy.cut()
  const out = room.send({ text: 'later' })
  await isOffline(chat)
  room.keystroke()
  await expect(chat.api.channels.create({ ...GROUP })).rejects.toMatchObject({
    code: 'NETWORK_ERROR',
  })
  chat.disconnect()
  proxy.mend()
  const clock = openClock()
  begun.length = 0
  for (let hour = 0; hour < 23; hour++) await clock.forward(3_600_000)
  expect(begun).toEqual([])
  await chat.connect()
  expect(await out.sent).toMatchObject({ text: 'later' })
})

test('the status is live only once the stores are up to date, after any retries', async () => {
  const [ana] = await world().users('ana', 'gus')
  await ana.channels.create({ ...GROUP, memberIds: ['gus'] })
  let failures = 0
  const { chat } = await chatOf(world(), 'gus', {
    fetch: (async (url, options) => {
      if (!String(url).includes('/api/channels?') || failures >= 2) return fetch(url, options)
      failures += 1
      return new Response('{}', { status: 500 })
    }) as typeof fetch,
  })
  const list = chat.channels()
  const connected = chat.connect()
  await until(
    chat.connection,
    ({ lastError, status }) => status === 'catching-up' && lastError?.code === 'INTERNAL_ERROR',
  )
  await connected
  const { status, items } = list.getSnapshot()
  expect([failures, status, items.length]).toEqual([2, 'ready', 1])
})

test('a topic that is left and taken again in one tick is subscribed once', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const { mint } = await chatOf(world(), 'ben')
  const connection = new Connection({
    tokens: new Tokens(mint, () => {}),
    webSocket: undefined,
    fetch: undefined,
    onConnected: () => {},
    catchUp: async () => {},
    onError: () => {},
  })
  onTestFinished(() => connection.disconnect())
  await connection.connect()
  const received: string[] = []
  const take = (name: string) =>
    connection.subscribe(topics.channel(world().appId, id), {
      onSubscribed: () => received.push(`${name} subscribed`),
      onEvent: () => received.push(`${name} event`),
      onAccessLost: () => received.push(`${name} lost`),
    })
  take('first')()
  take('second')()
  take('third')
  await vi.waitUntil(() => received.includes('third subscribed'), patient)
  await ana.messages.send({ channelId: id, text: 'once' })
  await vi.waitUntil(() => received.length > 1, patient)
  expect(received).toEqual(['third subscribed', 'third event'])
})

test('an error thrown by a listener is reported, and other listeners still run', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const errors: unknown[] = []
  const { chat, proxy } = await liveChatOf(world(), 'ben', {
    onError: (error) => errors.push(error),
  })
  const room = chat.channel(channelId)
  room.watch()
  await until(room.messages, ready)
  const [one, two] = [new Error('one'), new Error('two')]
  room.messages.subscribe(() => {
    throw one
  })
  chat.on('message.new', () => {
    throw two
  })
  await ana.messages.send({ channelId, text: 'hello' })
  expect(texts(await until(room.messages, ({ items }) => items.length === 1))).toEqual(['hello'])
  await ana.messages.send({ channelId, text: 'again' })
  await until(room.messages, ({ items }) => items.length === 2)
  expect([statusOf(chat), proxy.sockets]).toEqual(['live', 1])
  expect(new Set(errors)).toEqual(new Set([one, two]))
})
