import { memoryStorage } from '@parley/client'
import { expect, test, vi } from 'vitest'
import { isOffline, ready, texts, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

const SEND = /^POST .*\/messages$/
const BATCH = /^POST .*\/messages\/batch$/

test('a request has at most fifty of the messages that wait, as the server takes', async () => {
  const { chat, channel, count } = scriptedChat()
  const talk = channel('c')
  await chat.connect()
  const sent = Array.from({ length: 121 }, (_, n) => chat.channel('c').send({ text: `${n}` }).sent)
  await Promise.all(sent)
  expect([count(SEND), count(BATCH), talk.messages.length]).toEqual([1, 3, 121])
})

test('messages that wait share a request, and a channel has one request at a time', async () => {
  const { chat, channel, hold, count } = scriptedChat()
  const [one, two] = [channel('c'), channel('d')]
  await chat.connect()
  const held = hold(SEND)
  const sent = ['1', '2', '3'].map((text) => chat.channel('c').send({ text }).sent)
  await held.asked
  sent.push(chat.channel('d').send({ text: 'elsewhere' }).sent)
  await quiet()
  expect([one.messages.length, two.messages.length, count(SEND)]).toEqual([1, 1, 2])
  held.release()
  await Promise.all(sent)
  expect(texts({ items: one.messages })).toEqual(['1', '2', '3'])
  expect([count(SEND), count(BATCH)]).toEqual([2, 1])
})

test('messages that wait together are no larger than a request may be', async () => {
  const { chat, channel, count } = scriptedChat()
  const talk = channel('c')
  await chat.connect()
  chat.disconnect()
  const texts = Array.from({ length: 20 }, (_, index) => `${index}`.padEnd(40_000, '.'))
  const sent = texts.map((text) => chat.channel('c').send({ text }).sent)
  await chat.connect()
  await Promise.all(sent)
  expect(talk.messages.map(({ text }) => text)).toEqual(texts)
  expect(count(BATCH)).toBe(4)
})

test('metadata of a message is shown while it waits, and sent with it, alone or not', async () => {
  const { chat, channel, bodies } = scriptedChat()
  channel('c')
  await chat.connect()
  const room = chat.channel('c')
  chat.disconnect()
  const custom = { orderId: 7 }
  const first = room.send({ text: '1', custom })
  expect(first.message.custom).toEqual(custom)
  await chat.connect()
  await first.sent
  expect(bodies.get('POST /api/channels/c/messages')).toMatchObject({ text: '1', custom })
  chat.disconnect()
  const sent = ['2', '3'].map((text) => room.send({ text, custom }).sent)
  await chat.connect()
  await Promise.all(sent)
  expect(bodies.get('POST /api/channels/c/messages/batch')).toMatchObject({
    messages: [{ custom }, { custom }],
  })
})

test('waking and retrying start no second sender, and a new connection starts one', async () => {
  const clock = stoppedClock()
  const { chat, channel, hold, count, cut } = scriptedChat()
  const talk = channel('c')
  await chat.connect()
  const held = hold(SEND)
  const first = chat.channel('c').send({ text: '1', clientId: 'once' })
  await held.asked
  expect(chat.channel('c').send({ text: '1', clientId: 'once' }).message).toBe(first.message)
  cut({ isCut: false })
  await isOffline(chat)
  const again = hold(SEND)
  await clock.forward(10_000)
  chat.wake()
  await quiet()
  expect(count(SEND)).toBe(2)
  chat.disconnect()
  await chat.connect()
  await first.sent
  for (const late of [held, again]) late.release()
  await clock.forward(60_000)
  expect([talk.messages.length, count(SEND)]).toEqual([1, 3])
})

test('a message is retried with growing pauses, sooner after a reconnect, then never', async () => {
  const clock = stoppedClock()
  const { chat, channel, count, refuseRequests } = scriptedChat()
  channel('c')
  await chat.connect()
  refuseRequests(SEND, { status: 503, code: 'UNAVAILABLE' })
  const out = chat.channel('c').send({ text: '1' })
  await clock.forward(60_000)
  expect(count(SEND)).toBeGreaterThan(5)
  expect(count(SEND)).toBeLessThan(13)
  expect(out.message.status).toBe('pending')
  const before = count(SEND)
  refuseRequests()
  chat.disconnect()
  await clock.forward(60_000)
  expect(count(SEND)).toBe(before)
  await chat.connect()
  await out.sent
  await clock.forward(60_000)
  expect(count(SEND)).toBe(before + 1)
})

test('a message that fails while disconnected waits for the next connect', async () => {
  const clock = stoppedClock()
  const { chat, channel, hold, count } = scriptedChat()
  channel('c')
  await chat.connect()
  const held = hold(SEND)
  const out = chat.channel('c').send({ text: '1' })
  await held.asked
  chat.disconnect()
  held.release(new Response('{}', { status: 503 }))
  await quiet()
  expect(clock.timers()).toBe(0)
  await clock.forward(60_000)
  expect([count(SEND), clock.timers()]).toEqual([1, 0])
  await chat.connect()
  await out.sent
  expect(count(SEND)).toBe(2)
})

test('a discarded message is not sent, and one discarded too late shows as sent', async () => {
  const { chat, channel, hold, count } = scriptedChat()
  const talk = channel('c')
  await chat.connect()
  const room = chat.channel('c')
  room.watch()
  await until(room.messages, ready)
  const held = hold(SEND)
  const [late, never] = [room.send({ text: 'late' }), room.send({ text: 'never' })]
  await held.asked
  late.discard()
  never.discard()
  held.release()
  await expect(late.sent).rejects.toMatchObject({ code: 'ABORTED' })
  await expect(never.sent).rejects.toMatchObject({ code: 'ABORTED' })
  await quiet()
  expect([texts({ items: talk.messages }), count(SEND)]).toEqual([['late'], 1])
  expect(room.messages.getSnapshot().items.map(({ status }) => status)).toEqual(['sent'])
})

test('a refused message is stored as failed, and no client sends it unasked', async () => {
  const storage = memoryStorage()
  const first = scriptedChat({ storage })
  first.channel('c')
  first.refuseRequests(SEND, { status: 403, code: 'FORBIDDEN' })
  await first.chat.connect()
  const out = first.chat.channel('c').send({ text: 'refused' })
  await expect(out.sent).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await quiet()
  const second = scriptedChat({ storage })
  second.channel('c')
  await second.chat.connect()
  const room = second.chat.channel('c')
  room.watch()
  const { items } = await until(room.messages, ready)
  expect(items).toMatchObject([{ status: 'failed', error: { code: 'FORBIDDEN', status: 403 } }])
  expect(second.count(SEND)).toBe(0)
  room.retry(out.clientId)
  await until(room.messages, ({ items }) => items[0]?.status === 'sent')
  await quiet()
  expect(second.count(SEND)).toBe(1)
  expect(await storage.load('http://chat app:me')).toEqual([])
})

test('an edit of a refused message changes what is shown, after a reload, too', async () => {
  const storage = memoryStorage()
  const first = scriptedChat({ storage })
  first.channel('c')
  first.refuseRequests(SEND, { status: 403, code: 'FORBIDDEN' })
  await first.chat.connect()
  const out = first.chat.channel('c').send({ text: 'refused' })
  await expect(out.sent).rejects.toMatchObject({ code: 'FORBIDDEN' })
  first.chat.disconnect()
  first.chat
    .channel('c')
    .edit(out.clientId, { text: 'better' })
    .catch(() => {})
  await quiet()
  const second = scriptedChat({ storage })
  second.channel('c')
  await second.chat.connect()
  const room = second.chat.channel('c')
  room.watch()
  const { items } = await until(room.messages, ready)
  expect(items).toMatchObject([{ status: 'failed', text: 'better' }])
  await quiet()
  expect(await storage.load('http://chat app:me')).toMatchObject([{ text: 'better', failure: {} }])
  expect(second.count(/^PATCH/)).toBe(0)
})

test('a message written without a session is not sent for the user after a logout', async () => {
  const storage = memoryStorage()
  const { chat } = scriptedChat({ storage })
  const { sent } = chat.channel('c').send({ text: 'of another user' })
  await Promise.all([chat.logout(), expect(sent).rejects.toMatchObject({ code: 'ABORTED' })])
  await expect(chat.connect()).rejects.toMatchObject({ code: 'ABORTED' })
  const next = scriptedChat({ storage })
  next.channel('c')
  await next.chat.connect()
  await quiet()
  expect(next.count(SEND)).toBe(0)
})

test('an unsent message is shown once, whether its event or its answer comes first', async () => {
  const { chat, channel, hold } = scriptedChat()
  channel('c')
  await chat.connect()
  const room = chat.channel('c')
  room.watch()
  await until(room.messages, ready)
  const shown: string[] = []
  room.messages.subscribe(() => {
    const { items } = room.messages.getSnapshot()
    shown.push(items.map(({ status }) => status).join())
  })
  const held = hold(SEND)
  const out = room.send({ text: '1' })
  await held.asked
  await quiet()
  held.release()
  await out.sent
  await quiet()
  expect(shown).toEqual(['pending', 'sent'])
})

test('messages that 0.1.0 stored without the address of a server are sent once', async () => {
  const storage = memoryStorage()
  const stored = { clientId: 'old', channelId: 'c', createdAt: '2026-01-01T00:00:00.000Z' }
  await storage.put('app:me', { ...stored, text: 'from before', attachments: [] })
  const { chat, channel } = scriptedChat({ url: 'http://chat/', storage })
  const talk = channel('c')
  await chat.connect()
  await vi.waitFor(() => expect(talk.messages.map(({ text }) => text)).toEqual(['from before']))
  await quiet()
  for (const owner of ['app:me', 'http://chat app:me', 'http://chat/ app:me'])
    expect(await storage.load(owner)).toEqual([])
})
