import type { ChatClient } from '@parley/client'
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
import { patient } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

test('an application may bring its own fetch and WebSocket, to cut off one client among many', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const network = { isOn: true, sockets: new Set<WebSocket>() }
  class Switched extends WebSocket {
    constructor(url: string, protocols?: string | string[]) {
      super(url, protocols)
      network.sockets.add(this)
      if (!network.isOn) this.terminate()
    }
  }
  const fetched = ((...given) =>
    network.isOn ? fetch(...given) : Promise.reject(new TypeError('switched off'))) as typeof fetch
  const { chat } = await liveChatOf(world(), 'ben', {
    fetch: fetched,
    webSocket: Switched as unknown as typeof globalThis.WebSocket,
  }) // the same interface
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
  expect(
    texts(await until(room.messages, (shown) => ready(shown) && shown.items.length === 2)),
  ).toEqual(['from there', 'from here'])
})

const statusOf = (chat: ChatClient) => chat.connection.getSnapshot().status
/** Sets the clock forward, or back; timers run as ever. */
function turnClock(hours: number) {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hours * 3_600_000 })
  onTestFinished(() => void vi.useRealTimers())
}

/** What a browser has and Node.js has not: events of the page and of the network. */
function browse() {
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
  }
}

test.each(['show', 'online'] as const)(
  'a socket that died in silence is found out soon after the page says "%s", not a ping later',
  async (name) => {
    await world().users('ben')
    const events = browse()
    const { chat, proxy } = await liveChatOf(world(), 'ben')
    proxy.deaden()
    const clock = openClock()
    await clock.forward(8_000)
    expect(statusOf(chat)).toBe('live')
    events[name]()
    await clock.forward(5_050)
    expect(chat.connection.getSnapshot()).toMatchObject({
      status: 'offline',
      lastError: { code: 'NETWORK_ERROR' },
      reconnectInMs: expect.any(Number),
    })
    events[name]()
    await isLive(chat)
    expect(proxy.sockets).toBe(2)
  },
)

test('a socket that is well stays when the page is shown, and nobody listens any more after a disconnect', async () => {
  await world().users('ben')
  const { show, online } = browse()
  let frames = 0
  class Counting extends WebSocket {
    override emit(name: string | symbol, ...details: unknown[]) {
      if (name === 'message') frames += 1
      return super.emit(name, ...details)
    }
  }
  const { chat, proxy } = await liveChatOf(world(), 'ben', {
    webSocket: Counting as unknown as typeof globalThis.WebSocket,
  }) // the same interface
  const before = frames
  show()
  await vi.waitUntil(() => frames > before, patient)
  const clock = openClock()
  await clock.forward(6_000)
  expect([statusOf(chat), proxy.sockets]).toEqual(['live', 1])
  chat.disconnect()
  const asked = proxy.requests.length
  show()
  online()
  await clock.forward(60_000)
  expect([statusOf(chat), proxy.requests.length]).toEqual(['offline', asked])
})

test('when the network is back nobody waits for the delay that had grown while it was away', async () => {
  await world().users('ben')
  const { online } = browse()
  const { chat, proxy } = await liveChatOf(world(), 'ben')
  const clock = openClock()
  proxy.cut()
  for (
    let second = 0;
    second < 200 && (chat.connection.getSnapshot().reconnectInMs ?? 0) < 10_000;
    second++
  ) {
    await clock.forward(1_000)
    await new Promise(setImmediate)
  }
  expect(chat.connection.getSnapshot().reconnectInMs).toBeGreaterThan(10_000)
  proxy.mend()
  online()
  await isLive(chat)
})

test('a token that the server takes for expired before the client does is replaced, and the socket comes back', async () => {
  await world().users('ben')
  let minted = 0
  const { chat, proxy, mint } = await chatOf(world(), 'ben', { token: () => tokens() })
  const tokens = async () => {
    minted += 1
    return { ...(await mint()), expiresIn: 30 * 86_400 }
  }
  await chat.connect()
  turnClock(25)
  proxy.reset()
  await isOffline(chat)
  await isLive(chat)
  expect(minted).toBe(2)
})

test('a clock that is set forward or back costs one token, and nothing waits for it', async () => {
  await world().users('ben')
  let minted = 0
  const { chat, mint } = await chatOf(world(), 'ben', { token: () => tokens() })
  const tokens = async () => {
    minted += 1
    if (minted === 2) throw new Error('down')
    return mint()
  }
  await chat.connect()
  turnClock(-2)
  await expect(chat.api.users.list()).rejects.toMatchObject({ code: 'TOKEN_PROVIDER_FAILED' })
  turnClock(-2)
  for (const _ of [1, 2, 3]) await chat.api.users.list()
  expect(minted).toBe(3)
  turnClock(3)
  for (const _ of [1, 2, 3]) await chat.api.users.list()
  expect(minted).toBe(3)
  turnClock(25)
  for (const _ of [1, 2, 3]) await chat.api.users.list()
  expect(minted).toBe(4)
})

test('a token for another user is never used', async () => {
  await world().users('ben', 'eve')
  const { chat, mint } = await chatOf(world(), 'ben', { token: () => tokens() })
  let tokens = mint
  await chat.connect()
  tokens = async () => ({
    ...(await mint()),
    ...(await world().backend.tokens.create({ userId: 'eve' })),
  })
  turnClock(25)
  for (const _ of [1, 2])
    await expect(chat.api.users.get({ userId: 'ben' })).rejects.toMatchObject({
      code: 'TOKEN_PROVIDER_FAILED',
    })
  turnClock(1)
  await expect(chat.api.users.get({ userId: 'ben' })).rejects.toMatchObject({
    code: 'TOKEN_PROVIDER_FAILED',
  })
  expect(chat.me.getSnapshot()?.id).toBe('ben')
})

test('after a disconnect nothing is asked, sent or renewed, whatever was under way; all goes on with the next connect', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  let minted = 0
  const { chat, proxy, mint } = await chatOf(world(), 'ben', { token: () => tokens() })
  const tokens = async () => {
    minted += 1
    return mint()
  }
  await chat.connect()
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
  const [before, known] = [proxy.requests.length, minted]
  for (let hour = 0; hour < 23; hour++) await clock.forward(3_600_000)
  expect([proxy.requests.slice(before), minted]).toEqual([[], known])
  await chat.connect()
  expect(await out.sent).toMatchObject({ text: 'later' })
})

test('live is said only once what is shown is true, however often it takes to ask', async () => {
  const [ana] = await world().users('ana', 'gus')
  await ana.channels.create({ ...GROUP, memberIds: ['gus'] })
  let refusals = 0
  const { chat } = await chatOf(world(), 'gus', {
    fetch: (async (url, options) => {
      if (!String(url).includes('/api/channels?') || refusals >= 2) return fetch(url, options)
      refusals += 1
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
  expect([refusals, list.getSnapshot().status, list.getSnapshot().items.length]).toEqual([
    2,
    'ready',
    1,
  ])
})

test('a listener that throws is told of, and harms nobody', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const told: unknown[] = []
  const { chat, proxy } = await liveChatOf(world(), 'ben', { onError: (error) => told.push(error) })
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
  expect(new Set(told)).toEqual(new Set([one, two]))
})
