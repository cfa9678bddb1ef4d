import { isChatError, type TokenResult } from '@parley/client'
import { expect, onTestFinished, test, vi } from 'vitest'
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
import { insertWorkspace } from '../support/inserted.ts'
import { patient } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

async function talk(...names: [string, string]) {
  const [ana, ben] = await world().users(...names)
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: [names[1]] })
  return { ana, ben, channelId }
}

test('what is read in one channel leaves the others unread', async () => {
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

test('reactions of others leave my own as it is', async () => {
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

test('a retry after a lost answer gives one message, and is not refused', async () => {
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
  expect(
    texts(
      await until(
        room.messages,
        ({ items, status }) => status === 'ready' && items[0]?.status === 'sent',
      ),
    ),
  ).toEqual(['once'])
})

test('messages go out in the order they were written, online or not', async () => {
  const { ana, channelId } = await talk('ana4', 'ben4')
  const { chat, proxy } = await liveChatOf(world(), 'ben4')
  const room = chat.channel(channelId)
  room.watch()
  await until(room.messages, ready)
  proxy.cut()
  const sent = ['1', '2', '3', '4', '5'].map((text) => room.send({ text }))
  expect(room.messages.getSnapshot().items.map(({ text, status }) => [text, status])).toEqual(
    ['1', '2', '3', '4', '5'].map((text) => [text, 'pending']),
  )
  proxy.mend()
  await Promise.all(sent.map((each) => each.sent))
  expect(texts({ items: (await ana.messages.list({ channelId })).messages })).toEqual([
    '1',
    '2',
    '3',
    '4',
    '5',
  ])
})

test('a refused message waits for the user and holds up nobody', async () => {
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

test('what the server refuses is taken back', async () => {
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

test('200 channels come back from an outage with at most 5 requests', async () => {
  const [ana] = await world().users('ana7', 'ben7')
  const workspaceId = await insertWorkspace(world(), { ana7: 'owner', ben7: 'member' })
  const channelIds = await Promise.all(
    Array.from(
      { length: 200 },
      async (_, n) =>
        (await ana.channels.create({ ...GROUP, name: `c${n}`, memberIds: ['ben7'], workspaceId }))
          .id,
    ),
  )
  const { chat, proxy } = await liveChatOf(world(), 'ben7')
  const list = chat.channels()
  while ((await until(list, ready)).hasMore) await list.loadMore()
  const rooms = channelIds.map((id) => chat.channel(id))
  for (const room of rooms) room.watch()
  await Promise.all(rooms.map((room) => until(room.messages, ready)))
  await isLive(chat)
  proxy.cut()
  await isOffline(chat)
  await Promise.all(channelIds.map((channelId) => ana.messages.send({ channelId, text: 'missed' })))
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

test('what others edit, delete, react to and pin while I am away shows when I am back, even if events are gone', async () => {
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

test('a token provider that fails for long is asked ever more rarely, and all goes on by itself when it works again', async () => {
  await world().users('eve')
  const clock = openClock()
  let [asked, isDown] = [0, true]
  const { chat, mint } = await chatOf(world(), 'eve', { token: () => tokens() })
  const tokens = async () => {
    asked += 1
    if (isDown) throw new Error('down')
    return mint()
  }
  const connected = chat.connect()
  for (let second = 0; second < 600; second++) {
    await clock.forward(1_000)
    await expect(chat.api.users.list()).rejects.toMatchObject({
      code: 'TOKEN_PROVIDER_FAILED',
      retryable: true,
      retryAfterMs: expect.any(Number),
    })
  }
  expect(asked).toBeGreaterThan(10)
  expect(asked).toBeLessThan(30)
  expect(chat.connection.getSnapshot()).toMatchObject({
    status: 'offline',
    lastError: { code: 'TOKEN_PROVIDER_FAILED' },
    reconnectInMs: expect.any(Number),
  })
  const before = asked
  isDown = false
  for (let second = 0; second < 120 && chat.connection.getSnapshot().status === 'offline'; second++)
    await clock.forward(1_000)
  await connected
  expect(asked).toBe(before + 1)
  expect((await chat.api.users.list()).users.map(({ id }) => id)).toContain('eve')
})

test('a revoked token is renewed once, by one call to the provider, and the socket comes back', async () => {
  const { channelId } = await talk('ana9', 'ben9')
  let minted = 0
  const tokens = (): Promise<TokenResult> => {
    minted += 1
    return mint()
  }
  const { chat, mint } = await chatOf(world(), 'ben9', { token: () => tokens() })
  await chat.connect()
  expect(minted).toBe(1)
  const { now } = Date
  const later = vi.spyOn(Date, 'now').mockImplementation(() => now() + 60_000)
  onTestFinished(() => later.mockRestore())
  await world().backend.tokens.revoke({ userId: 'ben9' })
  await vi.waitFor(async () => {
    await Promise.all(Array.from({ length: 5 }, () => chat.api.channels.get({ channelId })))
    expect(minted).toBe(2)
  }, patient)
  await isLive(chat)
})
