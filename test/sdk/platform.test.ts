import { indexedDbStorage } from '@parley/client'
import { createApi, isChatError } from '@parley/client/api'
import { onSleep, onWake } from '@parley/client/internal/shared/platform'
import { IDBFactory } from 'fake-indexeddb'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ready, texts, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** The features that the client needs of its platform, and those that it does without. */

/** Takes a property away until the test ends. */
function without(owner: object, name: string) {
  const property = Object.getOwnPropertyDescriptor(owner, name)
  if (!property) throw new Error(`there is no ${name}`)
  Object.defineProperty(owner, name, { value: undefined, configurable: true })
  onTestFinished(() => void Object.defineProperty(owner, name, property))
}
/** Takes away all that React Native, older Safari and pages not served securely lack. */
function poorPlatform() {
  without(AbortSignal, 'timeout')
  without(AbortSignal, 'any')
  without(Object.getPrototypeOf(crypto), 'randomUUID')
}
const silent = (_: unknown, { signal }: RequestInit = {}) =>
  new Promise<never>((_, reject) => {
    const abort = () => reject(new Error('aborted'))
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort)
  })

test('the client chats without randomUUID, AbortSignal.timeout and AbortSignal.any', async () => {
  poorPlatform()
  const { chat, channel } = scriptedChat()
  const talk = channel('c')
  await chat.connect()
  const room = chat.channel('c')
  room.watch()
  const { signal } = new AbortController()
  expect(await chat.api.users.get({ userId: 'ana' }, { signal })).toMatchObject({ id: 'ana' })
  const sent = ['1', '2', '3'].map((text) => room.send({ text }))
  await Promise.all(sent.map((out) => out.sent))
  await until(room.messages, (shown) => ready(shown) && shown.items.length === 3)
  expect(texts({ items: talk.messages })).toEqual(['1', '2', '3'])
  expect(new Set(sent.map(({ clientId }) => clientId)).size).toBe(3)
  for (const { clientId } of sent) expect(clientId).toMatch(/^[0-9a-f]{32}$/)
})

test('messages have different ids without any crypto', async () => {
  without(globalThis, 'crypto')
  const { chat } = scriptedChat()
  const ids = Array.from({ length: 100 }, () => chat.channel('c').send({ text: 'hi' }).clientId)
  expect(new Set(ids).size).toBe(100)
})

test('a call waits 15 seconds, or as long as its option says, and leaves no timer', async () => {
  poorPlatform()
  const clock = stoppedClock()
  const failures: unknown[] = []
  const api = createApi({ url: 'http://test', fetch: silent })
  const call = (timeoutMs?: number) =>
    void api.service.live({}, { timeoutMs }).catch((error: unknown) => failures.push(error))
  call()
  call(1_000)
  await clock.forward(999)
  expect(failures).toEqual([])
  await clock.forward(1)
  expect(failures).toMatchObject([{ code: 'TIMEOUT' }])
  await clock.forward(13_999)
  expect(failures).toHaveLength(1)
  await clock.forward(1)
  expect(failures).toMatchObject([{ code: 'TIMEOUT' }, { code: 'TIMEOUT' }])
  const fine = createApi({ url: 'http://test', fetch: async () => Response.json({}) })
  await fine.service.live()
  expect(clock.timers()).toBe(0)
})

test('a caller aborts a call before and while it waits, and no listener is left', async () => {
  poorPlatform()
  const api = createApi({ url: 'http://test', fetch: silent })
  const early = await api.service.live({}, { signal: AbortSignal.abort() }).catch((error) => error)
  expect(isChatError(early, 'ABORTED')).toBe(true)
  const stop = new AbortController()
  const remove = vi.spyOn(stop.signal, 'removeEventListener')
  const late = api.service.live({}, { signal: stop.signal }).catch((error) => error)
  await quiet()
  stop.abort()
  expect(isChatError(await late, 'ABORTED')).toBe(true)
  expect(remove).toHaveBeenCalledTimes(1)
})

test('a pause that the server asked for ends on time although the clock was set back', async () => {
  const clock = stoppedClock()
  const { chat, intercept, refuseRequests } = scriptedChat()
  await chat.connect()
  const body = { error: { code: 'RATE_LIMITED', message: 'too many calls' } }
  intercept(/users/, () => Response.json(body, { status: 429, headers: { 'retry-after': '5' } }))
  const call = chat.api.users.get({ userId: 'ana' })
  await clock.forward(1_000)
  clock.set(-3_600_000)
  refuseRequests()
  await clock.forward(4_600)
  expect(await call).toMatchObject({ id: 'ana' })
})

test('wake() checks the connection, and does nothing while no connection is wanted', async () => {
  const clock = stoppedClock()
  const { chat, cut, mend, network, count, channel } = scriptedChat()
  channel('c')
  chat.wake()
  await clock.forward(60_000)
  expect(network.opened).toBe(0)
  await chat.connect()
  cut()
  await clock.forward(120_000)
  mend()
  const before = network.opened
  chat.wake()
  await until(chat.connection, ({ status }) => status === 'live')
  expect(network.opened).toBe(before + 1)
  chat.disconnect()
  chat.channel('c').send({ text: 'later' })
  chat.wake()
  await clock.forward(60_000)
  expect([network.opened, count(/messages$/)]).toEqual([before + 1, 0])
})

test('a client that stops listening to its page gets no more of its events', () => {
  const [page, document] = [new EventTarget(), new EventTarget()]
  const shown = Object.assign(document, { visibilityState: 'visible' })
  const globals = {
    document: shown,
    addEventListener: page.addEventListener.bind(page),
    removeEventListener: page.removeEventListener.bind(page),
  }
  for (const [name, value] of Object.entries(globals)) provide(name, value)
  const received: string[] = []
  const stops = [...onWake(() => received.push('wake')), ...onSleep(() => received.push('sleep'))]
  const dispatchAll = () => {
    for (const name of ['online', 'offline', 'pagehide']) page.dispatchEvent(new Event(name))
    shown.dispatchEvent(new Event('visibilitychange'))
  }
  dispatchAll()
  expect(received).toEqual(['wake', 'sleep', 'sleep', 'wake'])
  for (const stop of stops) stop()
  dispatchAll()
  expect(received).toHaveLength(4)
})

/** A global that browsers have, until the test ends. */
function provide(name: string, value: unknown) {
  Object.defineProperty(globalThis, name, { value, configurable: true })
  onTestFinished(() => void Reflect.deleteProperty(globalThis, name))
}
const OPERATION = { channelId: 'c', text: 'x', attachments: [], createdAt: '2026' }

test('a database that the browser has closed is opened again, once for all that wait', async () => {
  const indexedDB = new IDBFactory()
  const databases: { close: () => void; onclose: (() => void) | null }[] = []
  const open = (name: string, version: number) => {
    const request = indexedDB.open(name, version)
    request.addEventListener('success', () => databases.push(request.result))
    return request
  }
  provide('indexedDB', { open })
  const storage = indexedDbStorage('closed')
  const put = (clientId: string) => storage.put('me', { ...OPERATION, clientId })
  await put('1')
  databases[0]?.close()
  await Promise.all([put('2'), put('3')])
  expect(databases).toHaveLength(2)
  databases[1]?.onclose?.()
  await put('4')
  expect(databases).toHaveLength(3)
  expect(await storage.load('me')).toHaveLength(4)
})

test('a database that could not be opened is tried again at the next use', async () => {
  const indexedDB = new IDBFactory()
  let isRefused = true
  const refused = () => {
    const request = { error: new Error('refused'), onerror: () => {} }
    queueMicrotask(() => request.onerror())
    return request
  }
  const open = (name: string, version: number) =>
    isRefused ? refused() : indexedDB.open(name, version)
  provide('indexedDB', { open })
  const storage = indexedDbStorage('refused')
  await expect(storage.load('me')).rejects.toThrow('refused')
  isRefused = false
  expect(await storage.load('me')).toEqual([])
})

test('a database that opens too late is closed, and opened again at the next use', async () => {
  const indexedDB = new IDBFactory()
  const clock = stoppedClock()
  let closed = 0
  const late = { result: { close: () => void closed++ }, onsuccess: () => {} }
  provide('indexedDB', { open: () => late })
  const storage = indexedDbStorage('late')
  const load = storage.load('me').catch(String)
  await clock.forward(5_000)
  expect(await load).toContain('does not open')
  late.onsuccess()
  expect(closed).toBe(1)
  vi.useRealTimers()
  provide('indexedDB', indexedDB)
  expect(await storage.load('me')).toEqual([])
})

test('a write that the browser aborts fails, and a later one can succeed', async () => {
  const database = {
    transaction: () => {
      const transaction = {
        error: new Error('the disk is full'),
        objectStore: () => ({ put: () => ({}) }),
        onabort: () => {},
      }
      setImmediate(() => transaction.onabort())
      return transaction
    },
  }
  const request = { result: database, onsuccess: () => {} }
  const open = () => {
    queueMicrotask(() => request.onsuccess())
    return request
  }
  provide('indexedDB', { open })
  const written = indexedDbStorage('full').put('me', { ...OPERATION, clientId: '1' })
  const outcome = written.catch(({ message }) => message)
  await quiet()
  expect(await Promise.race([outcome, 'nothing'])).toBe('the disk is full')
})

test('importing the client touches nothing that only browsers have', async () => {
  const touched: string[] = []
  for (const name of ['document', 'window', 'localStorage', 'indexedDB', 'addEventListener']) {
    const get = () => void touched.push(name)
    Object.defineProperty(globalThis, name, { get, configurable: true })
    onTestFinished(() => void Reflect.deleteProperty(globalThis, name))
  }
  vi.resetModules()
  const { createChatClient } = await import('@parley/client')
  expect([typeof createChatClient, touched]).toEqual(['function', []])
})
