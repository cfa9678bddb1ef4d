import { isChatError } from '@parley/client'
import { expect, test, vi } from 'vitest'
import { inBatches } from '../support/batches.ts'
import { GROUP, isLive, isOffline, liveChatOf, ready, texts, until } from '../support/chat.ts'
import { insertWorkspace } from '../support/inserted.ts'
import { patient } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

/** Two users in a channel. */
async function talk(...names: [string, string]) {
  const [ana, ben] = await world().users(...names)
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: [names[1]] })
  return { ana, ben, channelId }
}

test('marking one channel as read leaves the others unread', async () => {
  const { ana, channelId } = await talk('ana1', 'ben1')
  const { id: other } = await ana.channels.create({ ...GROUP, memberIds: ['ben1'] })
  for (const id of [channelId, other]) await ana.messages.send({ channelId: id, text: 'hi' })
  const { chat } = await liveChatOf(world(), 'ben1')
  const list = chat.channels()
  await until(list, (shown) => ready(shown) && shown.totalUnread === 2)
  await chat.channel(channelId).markRead()
  await until(list, ({ totalUnread }) => totalUnread === 1)
  expect(chat.unread.getSnapshot()).toEqual({ total: 1, byChannel: { [channelId]: 0, [other]: 1 } })
})

test("other users' reactions do not clear one's own", async () => {
  const { ana, ben, channelId } = await talk('ana2', 'ben2')
  const { id: messageId } = await ana.messages.send({ channelId, text: 'hi' })
  const { chat } = await liveChatOf(world(), 'ben2')
  const room = chat.channel(channelId)
  room.watch()
  await until(room.messages, ready)
  await room.react(messageId, '👍')
  await ana.reactions.add({ channelId, messageId, emoji: '👍' })
  await ana.reactions.add({ channelId, messageId, emoji: '🎉' })
  await ana.messages.edit({ channelId, messageId, text: 'edited' })
  const { items } = await until(room.messages, (shown) => texts(shown)[0] === 'edited')
  expect(items[0]?.reactions).toMatchObject([
    { type: '👍', count: 2, own: true },
    { type: '🎉', count: 1, own: false },
  ])
  await ben.reactions.remove({ channelId, messageId, emoji: '👍' })
  await until(room.messages, ({ items }) => items[0]?.reactions[0]?.own === false)
})

test('a send retried after a lost response stores one message and is not refused', async () => {
  const { ben, channelId } = await talk('ana3', 'ben3')
  const { chat, proxy } = await liveChatOf(world(), 'ben3')
  const room = chat.channel(channelId)
  room.watch()
  await until(room.messages, ready)
  proxy.loseAnswers(true)
  const out = room.send({ text: 'once' })
  await vi.waitUntil(
    async () => (await ben.messages.list({ channelId })).messages.length === 1,
    patient,
  )
  proxy.cut()
  proxy.loseAnswers(false)
  proxy.mend()
  expect(await out.sent).toMatchObject({ text: 'once', seq: 1 })
  expect((await ben.messages.list({ channelId })).messages).toHaveLength(1)
  const shown = await until(
    room.messages,
    (messages) => ready(messages) && messages.items[0]?.status === 'sent',
  )
  expect(texts(shown)).toEqual(['once'])
})

test('messages are sent in the order they were written, online or offline', async () => {
  const { ana, channelId } = await talk('ana4', 'ben4')
  const { chat, proxy } = await liveChatOf(world(), 'ben4')
  const room = chat.channel(channelId)
  room.watch()
  await until(room.messages, ready)
  proxy.cut()
  const written = ['1', '2', '3', '4', '5']
  const outgoing = written.map((text) => room.send({ text }))
  expect(room.messages.getSnapshot().items.map(({ text, status }) => [text, status])).toEqual(
    written.map((text) => [text, 'pending']),
  )
  proxy.mend()
  await Promise.all(outgoing.map(({ sent }) => sent))
  const { messages } = await ana.messages.list({ channelId })
  expect(texts({ items: messages })).toEqual(written)
})

test('a refused message stays until discarded, and does not block the next ones', async () => {
  const { channelId } = await talk('ana5', 'ben5')
  const { chat } = await liveChatOf(world(), 'ben5')
  const room = chat.channel(channelId)
  room.watch()
  await until(room.messages, ready)
  const bad = room.send({ text: '' })
  const good = room.send({ text: 'fine' })
  await expect(bad.sent).rejects.toSatisfy(
    (error) => isChatError(error, 'VALIDATION_ERROR') && !error.retryable,
  )
  await good.sent
  expect(bad.message).toMatchObject({ status: 'failed', error: { code: 'VALIDATION_ERROR' } })
  expect(room.messages.getSnapshot().items.map(({ status }) => status)).toEqual(['sent', 'failed'])
  bad.discard()
  expect(room.messages.getSnapshot().items).toHaveLength(1)
})

test('an optimistic edit is undone if the server refuses it', async () => {
  const { ana, channelId } = await talk('ana6', 'ben6')
  const { id } = await ana.messages.send({ channelId, text: 'mine' })
  const { chat } = await liveChatOf(world(), 'ben6')
  const room = chat.channel(channelId)
  room.watch()
  await until(room.messages, ready)
  const edited = room.edit(id, { text: 'yours' })
  expect(texts(room.messages.getSnapshot())).toEqual(['yours'])
  await expect(edited).rejects.toMatchObject({
    code: 'FORBIDDEN',
    status: 403,
    retryable: false,
    requestId: expect.any(String),
  })
  expect(texts(room.messages.getSnapshot())).toEqual(['mine'])
})

test('200 channels recover from an outage with at most 5 requests', async () => {
  const [ana] = await world().users('ana7', 'ben7')
  const workspaceId = await insertWorkspace(world(), { ana7: 'owner', ben7: 'member' })
  const channel = { ...GROUP, memberIds: ['ben7'], workspaceId }
  const names = Array.from({ length: 200 }, (_, n) => `c${n}`)
  const create = (name: string) => ana.channels.create({ ...channel, name })
  const channelIds = (await inBatches(names, 20, create)).map(({ id }) => id)
  const { chat, proxy } = await liveChatOf(world(), 'ben7')
  const list = chat.channels()
  while ((await until(list, ready)).hasMore) await list.loadMore()
  const rooms = channelIds.map((id) => chat.channel(id))
  for (const room of rooms) room.watch()
  await Promise.all(rooms.map((room) => until(room.messages, ready)))
  await isLive(chat)
  proxy.cut()
  await isOffline(chat)
  await inBatches(channelIds, 20, (channelId) => ana.messages.send({ channelId, text: 'missed' }))
  proxy.requests.length = 0
  proxy.mend()
  await isLive(chat)
  await Promise.all(
    rooms.map((room) => until(room.messages, (shown) => texts(shown)[0] === 'missed')),
  )
  await until(
    list,
    (shown) =>
      ready(shown) &&
      shown.totalUnread === 200 &&
      shown.items.every(
        ({ unreadCount, lastMessage }) => unreadCount === 1 && lastMessage?.text === 'missed',
      ),
  )
  const calls = proxy.requests.filter((request) => !request.includes('/connection/'))
  expect(calls.length, calls.join()).toBeLessThanOrEqual(5)
  expect(proxy.sockets).toBe(2)
})

test('edits, deletions, reactions and pins missed offline show even without events', async () => {
  const { ana, channelId } = await talk('ana8', 'ben8')
  const ids: string[] = []
  for (const text of ['kept', 'edited', 'deleted', 'liked', 'pinned'])
    ids.push((await ana.messages.send({ channelId, text })).id)
  const [, edited = '', deleted = '', liked = '', pinned = ''] = ids
  const { chat, proxy } = await liveChatOf(world(), 'ben8')
  const room = chat.channel(channelId)
  room.watch()
  room.pins.subscribe(() => {})
  await Promise.all([until(room.messages, ready), until(room.pins, ready)])
  const resynced: string[][] = []
  chat.on('resync', ({ channelIds }) => resynced.push(channelIds))
  proxy.cut()
  await isOffline(chat)
  await ana.messages.edit({ channelId, messageId: edited, text: 'changed' })
  await ana.messages.delete({ channelId, messageId: deleted })
  await ana.reactions.add({ channelId, messageId: liked, emoji: '👍' })
  await ana.pins.pin({ channelId, messageId: pinned })
  await world().db`update service set value = 'another' where key = 'epoch'`
  proxy.mend()
  await isLive(chat)
  const { items } = await until(
    room.messages,
    (shown) => ready(shown) && texts(shown).includes('changed'),
  )
  expect(items.map(({ text, pinned, reactions }) => [text, pinned, reactions.length])).toEqual([
    ['kept', false, 0],
    ['changed', false, 0],
    ['liked', false, 1],
    ['pinned', true, 0],
  ])
  await until(room.pins, ({ items }) => items[0]?.id === pinned)
  expect(resynced).toEqual([[channelId]])
})
