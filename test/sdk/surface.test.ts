import type { ChatClient } from '@parley/client'
import { expect, test } from 'vitest'
import { chatOf, GROUP, isLive, ready, texts, until } from '../support/chat.ts'
import { useSharedWorld } from '../support/world.ts'

/** An application sees a room as its record, and as stores that load when they are used. */

const world = useSharedWorld()
const UNKNOWN = '019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c81'

test('a subscription to a store loads it and keeps it live, without watch()', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  await ana.messages.send({ channelId, text: 'one' })
  const { chat } = await chatOf(world(), 'ben')
  const room = chat.channel(channelId)
  const stop = room.messages.subscribe(() => {})
  room.typing.subscribe(() => {})
  await chat.connect()
  expect(texts(await until(room.messages, ready))).toEqual(['one'])
  await ana.messages.send({ channelId, text: 'two' })
  await until(room.messages, (shown) => texts(shown).join() === 'one,two')
  await until(room.typing, ({ status }) => status === 'ready')
  await ana.typing.set({ channelId })
  await until(room.typing, ({ items }) => items[0]?.id === 'ana')
  stop()
  chat.disconnect()
  expect(room.typing.getSnapshot()).toEqual({ items: [], status: 'stale' })
})

test('a room has its live record, whether a list has it or not', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const { chat, proxy } = await chatOf(world(), 'ben')
  const room = chat.channel(id)
  room.info.subscribe(() => {})
  expect(room.info.getSnapshot()).toMatchObject({ channel: undefined, status: 'loading' })
  await chat.connect()
  const { channel } = await until(room.info, ready)
  expect(channel).toMatchObject({ id, name: GROUP.name, role: 'member', unreadCount: 0 })
  await ana.channels.update({ channelId: id, name: 'Renamed' })
  await until(room.info, ({ channel }) => channel?.name === 'Renamed')
  await ana.messages.send({ channelId: id, text: 'hello' })
  await until(room.info, ({ channel }) => channel?.unreadCount === 1)
  await room.markRead()
  await until(room.info, ({ channel }) => channel?.unreadCount === 0)
  expect(proxy.requests.filter((request) => request.startsWith(`GET /api/channels/${id}`))).toEqual(
    [],
  )
  proxy.cut()
  const shown = await until(room.info, ({ status }) => status === 'stale')
  expect(shown.channel?.name).toBe('Renamed')
})

const errorOf = async (chat: ChatClient, id: string) => {
  const room = chat.channel(id)
  for (const store of [room.messages, room.info]) store.subscribe(() => {})
  const failed = ({ status }: { status: string }) => status === 'failed'
  const shown = await Promise.all([until(room.messages, failed), until(room.info, failed)])
  return shown.map(({ error }) => error?.code)
}

test('an unknown channel is NOT_FOUND, and one of others is FORBIDDEN', async () => {
  const [ana] = await world().users('ana', 'eve')
  const { id } = await ana.channels.create({ type: 'private', name: 'Own' })
  const { chat } = await chatOf(world(), 'eve')
  await chat.connect()
  expect(await errorOf(chat, UNKNOWN)).toEqual(['NOT_FOUND', 'NOT_FOUND'])
  expect(await errorOf(chat, 'nonsense')).toEqual(['NOT_FOUND', 'NOT_FOUND'])
  expect(await errorOf(chat, id)).toEqual(['FORBIDDEN', 'FORBIDDEN'])
  await isLive(chat)
})

test('messages without replies page past a long thread, and show what is sent', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const send = (text: string, parentId?: string) =>
    ana.messages.send({ channelId, text, ...(parentId && { parentId }) })
  const root = await send('root 0')
  for (let count = 1; count < 60; count++) {
    await send(`reply ${count}`, root.id)
    if (count % 30 === 0) await send(`root ${count}`)
  }
  const page = await ana.messages.list({ channelId, replies: false, limit: 2 })
  expect([texts({ items: page.messages }), page.hasMore]).toEqual([['root 0', 'root 30'], false])
  const newest = await ana.messages.list({ channelId, replies: false, limit: 1 })
  expect([texts({ items: newest.messages }), newest.hasMore]).toEqual([['root 30'], true])
  const both = ana.messages.list({ channelId, replies: false, since_seq: 1 })
  await expect(both).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })

  const { chat } = await chatOf(world(), 'ben')
  await chat.connect()
  const room = chat.channel(channelId)
  const roots = room.messages({ replies: false })
  expect([roots, room.messages()]).toEqual([room.messages({ replies: false }), room.messages({})])
  roots.subscribe(() => {})
  await until(roots, ready)
  expect(texts(roots.getSnapshot())).toEqual(['root 0', 'root 30'])
  expect(roots.getSnapshot().hasOlder).toBe(false)
  room.send({ text: 'answer', parentId: root.id })
  await room.send({ text: 'root 61' }).sent
  await until(roots, (shown) => texts(shown).join() === 'root 0,root 30,root 61')
  expect(texts(room.messages.getSnapshot()).slice(-2)).toEqual(['answer', 'root 61'])
})
