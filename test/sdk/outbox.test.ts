import 'fake-indexeddb/auto'
import { indexedDbStorage, memoryStorage, type OutboxStorage } from '@parley/client'
import { describe, expect, test } from 'vitest'
import { chatOf, GROUP, isOffline, liveChatOf, ready, texts, until } from '../support/chat.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

describe.each<[string, () => OutboxStorage]>([
  ['memory', () => memoryStorage()],
  ['IndexedDB', () => indexedDbStorage(`outbox-${Math.random()}`)],
])('with an outbox in %s', (name, create) => {
  test('what could not be sent before a reload is sent after it, in order, once, for its user only', async () => {
    const storage = create()
    const [ana] = await world().users(`ana-${name}`)
    await world().users(`ben-${name}`, `cem-${name}`)
    const { id: channelId } = await ana.channels.create({
      ...GROUP,
      memberIds: [`ben-${name}`, `cem-${name}`],
    })
    const before = await liveChatOf(world(), `ben-${name}`, { storage })
    before.proxy.cut()
    await isOffline(before.chat)
    for (const text of ['1', '2', '3']) before.chat.channel(channelId).send({ text })
    await expect.poll(() => storage.load(`${world().appId}:ben-${name}`)).toHaveLength(3)
    before.chat.disconnect()

    await liveChatOf(world(), `cem-${name}`, { storage })
    expect((await ana.messages.list({ channelId })).messages).toEqual([])
    const { chat } = await liveChatOf(world(), `ben-${name}`, { storage })
    const room = chat.channel(channelId)
    room.watch()
    expect(
      texts(
        await until(
          room.messages,
          (shown) =>
            ready(shown) && shown.items.filter(({ status }) => status === 'sent').length === 3,
        ),
      ),
    ).toEqual(['1', '2', '3'])
    await expect.poll(() => storage.load(`${world().appId}:ben-${name}`)).toEqual([])
    expect((await ana.messages.list({ channelId })).messages).toHaveLength(3)
  })
})

test('two pages of a browser share an outbox: what one could not send is shown in both, and sent once', async () => {
  const storage = indexedDbStorage('shared')
  const [ana] = await world().users('ana', 'two')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['two'] })
  const one = await liveChatOf(world(), 'two', { storage })
  one.proxy.cut()
  await isOffline(one.chat)
  const sent = ['1', '2', '3'].map((text) => one.chat.channel(channelId).send({ text }).sent)
  const kept = () => storage.load(`${world().appId}:two`)
  await expect.poll(kept).toHaveLength(3)
  const two = await chatOf(world(), 'two', { storage })
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
  await expect.poll(kept).toEqual([])
})

test('what was written before the outbox was read goes out after what it kept', async () => {
  const storage = memoryStorage()
  const [ana, { id: owner }] = await world().users('ana', 'late')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['late'] })
  const at = (second: number) => new Date(1_700_000_000_000 + second * 1_000).toISOString()
  for (const n of [1, 2])
    await storage.put(`${world().appId}:${owner}`, {
      clientId: `kept-${n}`,
      channelId,
      text: `kept ${n}`,
      attachments: [],
      createdAt: at(n),
    })
  const { chat } = await chatOf(world(), owner, { storage })
  const room = chat.channel(channelId)
  room.watch()
  const connected = chat.connect()
  await until(chat.me, (me) => me !== null)
  const out = room.send({ text: 'new' })
  expect(out.message).toMatchObject({ status: 'pending', user: { id: owner } })
  await Promise.all([connected, out.sent])
  expect(texts({ items: (await ana.messages.list({ channelId })).messages })).toEqual([
    'kept 1',
    'kept 2',
    'new',
  ])
})

test('a refused message that is sent again is sent, and says so', async () => {
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

test('a long channel is paged both ways, without a message missing or twice', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const ids: string[] = []
  for (let n = 1; n <= 130; n++) ids.push((await ana.messages.send({ channelId, text: `${n}` })).id)
  const all = ids.map((_, index) => `${index + 1}`)
  const { chat } = await liveChatOf(world(), 'ben')
  const room = chat.channel(channelId)
  room.watch()
  expect(await until(room.messages, ready)).toMatchObject({ hasOlder: true, hasNewer: false })
  expect(texts(room.messages.getSnapshot())).toEqual(all.slice(80))
  await Promise.all([room.messages.loadOlder(), room.messages.loadOlder()])
  expect(texts(room.messages.getSnapshot())).toEqual(all.slice(30))

  await room.messages.jumpTo(ids[19] ?? '')
  expect(room.messages.getSnapshot()).toMatchObject({ hasOlder: false, hasNewer: true })
  expect(texts(room.messages.getSnapshot())).toEqual(all.slice(0, 45))
  await ana.messages.delete({ channelId, messageId: ids[69] ?? '' })
  await ana.messages.send({ channelId, text: '131' })
  while (room.messages.getSnapshot().hasNewer) await room.messages.loadNewer()
  await until(room.messages, (shown) => texts(shown).at(-1) === '131')
  expect(texts(room.messages.getSnapshot())).toEqual([
    ...all.filter((text) => text !== '70'),
    '131',
  ])
})

test('a thread is live beside its channel, and a reply shows in both at once', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const { id: parentId } = await ana.messages.send({ channelId, text: 'root' })
  await ana.messages.send({ channelId, text: 'one', parentId })
  const { chat } = await liveChatOf(world(), 'ben')
  const room = chat.channel(channelId)
  const thread = room.thread(parentId)
  room.watch()
  await until(thread, (shown) => ready(shown) && shown.parent?.replyCount === 1)
  const out = room.send({ text: 'two', parentId })
  expect([texts(thread.getSnapshot()), texts(room.messages.getSnapshot()).slice(-1)]).toEqual([
    ['one', 'two'],
    ['two'],
  ])
  await out.sent
  await until(thread, ({ items, parent }) => items.length === 2 && parent?.replyCount === 2)
})

test('who is removed from a channel sees it go, and sees it again when he is back', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const { chat } = await chatOf(world(), 'ben')
  const room = chat.channel(channelId)
  room.watch()
  await chat.connect()
  await until(room.messages, ready)
  await ana.members.remove({ channelId, userId: 'ben' })
  await until(
    room.messages,
    ({ status, error }) => status === 'failed' && error?.code === 'FORBIDDEN',
  )
  await ana.members.add({ channelId, userIds: ['ben'] })
  await ana.messages.send({ channelId, text: 'welcome back' })
  expect(
    texts(await until(room.messages, (shown) => ready(shown) && shown.items.length === 1)),
  ).toEqual(['welcome back'])
})

test('keystrokes and reads are told at most every so often', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const { id: last } = await ana.messages.send({ channelId, text: 'read me' })
  const { chat, proxy } = await liveChatOf(world(), 'ben')
  const room = chat.channel(channelId)
  for (let n = 0; n < 20; n++) room.keystroke()
  await Promise.all(Array.from({ length: 20 }, (_, n) => room.markRead(n % 2 ? last : undefined)))
  const asked = (path: string) => proxy.requests.filter((request) => request.endsWith(path)).length
  expect([asked('/typing'), asked('/read')]).toEqual([1, 1])
})
