import { expect, test } from 'vitest'
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
import { useWorld } from '../support/world.ts'

const world = useWorld()

test('a watched channel shows what there is, and what is said from then on', async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  await ana.messages.send({ channelId, text: 'before' })
  const { chat } = await liveChatOf(world(), 'ben')
  const room = chat.channel(channelId)
  const stop = room.watch()
  await until(room.messages, (shown) => ready(shown) && texts(shown).length === 1)
  await ana.messages.send({ channelId, text: 'after' })
  expect(texts(await until(room.messages, ({ items }) => items.length === 2))).toEqual([
    'before',
    'after',
  ])

  const out = room.send({ text: 'mine' })
  expect(out.message).toMatchObject({ status: 'pending', text: 'mine' })
  expect(room.messages.getSnapshot().items.at(-1)).toBe(out.message)
  expect(await out.sent).toMatchObject({ text: 'mine', seq: 3 })
  await until(
    room.messages,
    ({ items }) => items.length === 3 && items.every(({ status }) => status === 'sent'),
  )
  expect(out.message.status).toBe('sent')
  await ana.typing.set({ channelId })
  expect(await until(room.typing, ({ length }) => length === 1)).toMatchObject([{ id: 'ana' }])
  await until(room.members, (members) => ready(members) && members.items.length === 2)
  await until(room.reads, (reads) => reads.ben !== undefined)
  await room.markRead()
  await until(room.reads, (reads) => reads.ben?.lastReadSeq === 3)
  await room.react(out.message.id, '👍')
  expect(room.messages.getSnapshot().items[2]?.reactions).toMatchObject([
    { type: '👍', own: true, count: 1 },
  ])
  stop()
  void ben
})

test('a client that was offline catches up when it is back', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const { id: first } = await ana.messages.send({ channelId, text: 'first' })
  const { chat, proxy } = await liveChatOf(world(), 'ben')
  const room = chat.channel(channelId)
  room.watch()
  await until(room.messages, ready)
  proxy.cut()
  await isOffline(chat)
  expect(room.messages.getSnapshot().status).toBe('stale')
  await ana.messages.edit({ channelId, messageId: first, text: 'edited' })
  await ana.messages.send({ channelId, text: 'second' })
  const out = room.send({ text: 'from afar' })
  proxy.mend()
  await isLive(chat)
  await out.sent
  expect(
    texts(await until(room.messages, (shown) => ready(shown) && shown.items.length === 3)),
  ).toEqual(['edited', 'second', 'from afar'])
})

test('the list of channels follows what happens in them', async () => {
  const [ana] = await world().users('ana', 'eve')
  const { id: one } = await ana.channels.create({ ...GROUP, name: 'One', memberIds: ['eve'] })
  await ana.channels.create({ ...GROUP, name: 'Two', memberIds: ['eve'] })
  const { chat } = await chatOf(world(), 'eve')
  const list = chat.channels()
  await chat.connect()
  await until(list, (shown) => ready(shown) && shown.items.length === 2)
  await ana.messages.send({ channelId: one, text: 'hello' })
  const shown = await until(
    list,
    ({ items, totalUnread }) => items[0]?.unreadCount === 1 && totalUnread === 1,
  )
  expect(shown.items.map(({ name, lastMessage }) => [name, lastMessage?.text])).toEqual([
    ['One', 'hello'],
    ['Two', undefined],
  ])
  await ana.channels.create({ ...GROUP, name: 'Three', memberIds: ['eve'] })
  expect((await until(list, ({ items }) => items.length === 3)).items[0]?.name).toBe('Three')
  await chat.channel(one).markRead()
  await until(list, ({ totalUnread }) => totalUnread === 0)
})
