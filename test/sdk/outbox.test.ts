import {
  type ChatMessage,
  indexedDbStorage,
  memoryStorage,
  type OutboxStorage,
} from '@parley/client'
import { IDBFactory } from 'fake-indexeddb'
import { describe, expect, test } from 'vitest'
import { chatOf, GROUP, isOffline, liveChatOf, ready, texts, until } from '../support/chat.ts'
import { scriptedChat } from '../support/scripted/index.ts'
import { useGlobals } from '../support/use-globals.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()
useGlobals({ indexedDB: new IDBFactory() })

describe.each<[string, () => OutboxStorage]>([
  ['memory', () => memoryStorage()],
  ['IndexedDB', () => indexedDbStorage(`outbox-${Math.random()}`)],
])('with an outbox in %s', (name, create) => {
  test('unsent messages survive a reload: sent once, in order, only as their author', async () => {
    const storage = create()
    const [ana] = await world().users(`ana-${name}`)
    const [ben, cem] = [`ben-${name}`, `cem-${name}`]
    await world().users(ben, cem)
    const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: [ben, cem] })
    const before = await liveChatOf(world(), ben, { storage })
    const { url } = before.proxy
    const stored = () => storage.load(`${url} ${world().appId}:${ben}`)
    before.proxy.cut()
    await isOffline(before.chat)
    for (const text of ['1', '2', '3']) before.chat.channel(channelId).send({ text })
    await expect.poll(stored).toHaveLength(3)
    before.chat.disconnect()

    await liveChatOf(world(), cem, { storage })
    expect((await ana.messages.list({ channelId })).messages).toEqual([])
    before.proxy.mend()
    const { chat } = await liveChatOf(world(), ben, { storage, url })
    const room = chat.channel(channelId)
    room.watch()
    const areSent = (items: readonly ChatMessage[]) =>
      items.filter(({ status }) => status === 'sent').length === 3
    const shown = await until(room.messages, (shown) => ready(shown) && areSent(shown.items))
    expect(texts(shown)).toEqual(['1', '2', '3'])
    await expect.poll(stored).toEqual([])
    expect((await ana.messages.list({ channelId })).messages).toHaveLength(3)
  })
})

test('two tabs share an outbox: both show an unsent message, and it is sent once', async () => {
  const storage = indexedDbStorage('shared')
  const [ana] = await world().users('ana', 'two')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['two'] })
  const one = await liveChatOf(world(), 'two', { storage })
  one.proxy.cut()
  await isOffline(one.chat)
  const sent = ['1', '2', '3'].map((text) => one.chat.channel(channelId).send({ text }).sent)
  const { url } = one.proxy
  const stored = () => storage.load(`${url} ${world().appId}:two`)
  await expect.poll(stored).toHaveLength(3)
  const two = await chatOf(world(), 'two', { storage, url })
  const rooms = [one, two].map(({ chat }) => chat.channel(channelId))
  for (const room of rooms) room.watch()
  one.proxy.mend()
  await Promise.all([one, two].map(({ chat }) => chat.connect()))
  await Promise.all(sent)
  for (const room of rooms) {
    const { items } = await until(
      room.messages,
      (shown) =>
        ready(shown) &&
        shown.items.length === 3 &&
        shown.items.every(({ status }) => status === 'sent'),
    )
    expect(texts({ items })).toEqual(['1', '2', '3'])
  }
  expect((await ana.messages.list({ channelId })).messages).toHaveLength(3)
  await expect.poll(stored).toEqual([])
})

test('messages written before the outbox has loaded are sent after the stored ones', async () => {
  const storage = memoryStorage()
  const [ana, { id: owner }] = await world().users('ana', 'late')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['late'] })
  const at = (second: number) => new Date(1_700_000_000_000 + second * 1_000).toISOString()
  const { chat, proxy } = await chatOf(world(), owner, { storage })
  for (const n of [1, 2])
    await storage.put(`${proxy.url} ${world().appId}:${owner}`, {
      clientId: `stored-${n}`,
      channelId,
      text: `stored ${n}`,
      attachments: [],
      createdAt: at(n),
    })
  const room = chat.channel(channelId)
  room.watch()
  const connected = chat.connect()
  await until(chat.me, (me) => me !== null)
  const out = room.send({ text: 'new' })
  expect(out.message).toMatchObject({ status: 'pending', user: { id: owner } })
  await Promise.all([connected, out.sent])
  expect(texts({ items: (await ana.messages.list({ channelId })).messages })).toEqual([
    'stored 1',
    'stored 2',
    'new',
  ])
})

test('a refused message can be retried and becomes sent', async () => {
  const [ana] = await world().users('ana', 'again')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['again'] })
  const { chat } = await liveChatOf(world(), 'again')
  const room = chat.channel(channelId)
  await ana.members.remove({ channelId, userId: 'again' })
  const out = room.send({ text: 'let me' })
  await expect(out.sent).rejects.toMatchObject({ code: 'FORBIDDEN' })
  expect(out.message.status).toBe('failed')
  await ana.members.add({ channelId, userIds: ['again'] })
  out.retry()
  expect(out.message).toMatchObject({ status: 'pending', error: undefined })
  expect(await out.sent).toMatchObject({ text: 'let me', seq: 1 })
  expect(out.message).toMatchObject({ status: 'sent', seq: 1 })
})

test('metadata that was edited offline is shown merged, and stored as it was shown', async () => {
  const [ana] = await world().users('edits')
  const { id: channelId } = await ana.channels.create(GROUP)
  const { chat, proxy } = await liveChatOf(world(), 'edits')
  const room = chat.channel(channelId)
  room.watch()
  await until(room.messages, ready)
  const sent = await room.send({ text: 'order', custom: { a: 1, b: 2 } }).sent
  await until(room.messages, ({ items }) => items[0]?.status === 'sent')
  proxy.cut()
  await isOffline(chat)
  const unsent = room.send({ text: 'later', custom: { x: 1, y: 2 } })
  const edits = [
    room.edit(sent.id, { custom: { a: null, c: 3 } }),
    room.edit(sent.id, { text: 'orders' }),
    room.edit(sent.id, { custom: { b: 4 } }),
    room.edit(unsent.clientId, { custom: null }),
    room.edit(unsent.clientId, { custom: { y: 5 } }),
  ]
  const shown = () =>
    room.messages.getSnapshot().items.map(({ text, custom }) => ({ text, custom }))
  const expected = [
    { text: 'orders', custom: { b: 4, c: 3 } },
    { text: 'later', custom: { y: 5 } },
  ]
  expect(shown()).toEqual(expected)
  proxy.mend()
  await Promise.all(edits)
  expect(shown()).toEqual(expected)
  expect((await ana.messages.list({ channelId })).messages).toMatchObject(expected)
  expect((await ana.messages.get({ channelId, messageId: sent.id })).custom).toEqual({ b: 4, c: 3 })
})

test('a message that is sent again is stored after what was done since', async () => {
  const storage = memoryStorage()
  const { chat, channel, refuseRequests } = scriptedChat({ storage })
  channel('c')
  await chat.connect()
  const room = chat.channel('c')
  const send = /^POST .*\/messages$/
  refuseRequests(send, { status: 403, code: 'FORBIDDEN' })
  const first = room.send({ text: 'first' })
  await expect(first.sent).rejects.toMatchObject({ code: 'FORBIDDEN' })
  refuseRequests(/^POST .*\/messages/, { status: 503, code: 'UNAVAILABLE' })
  room.send({ text: 'second' })
  first.retry()
  const inOrder = async () =>
    (await storage.load('http://chat app:me'))
      .toSorted((one, other) => (one.createdAt < other.createdAt ? -1 : 1))
      .map((operation) => 'text' in operation && operation.text)
  await expect.poll(inOrder).toEqual(['second', 'first'])
})
