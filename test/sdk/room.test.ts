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
import { patient } from '../support/until.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()

test('a watched room loads its current state and then follows events', async () => {
  const [ana] = await world().users('ana', 'ben')
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
  const { items: typing } = await until(room.typing, ({ items }) => items.length === 1)
  expect(typing).toMatchObject([{ id: 'ana' }])
  await until(room.members, (members) => ready(members) && members.items.length === 2)
  await until(room.reads, ({ byUser: reads }) => reads.ben !== undefined)
  await room.markRead()
  await until(room.reads, ({ byUser: reads }) => reads.ben?.lastReadSeq === 3)
  await room.react(out.message.id, '👍')
  expect(room.messages.getSnapshot().items[2]?.reactions).toMatchObject([
    { type: '👍', own: true, count: 1 },
  ])
  stop()
})

test('a room shows what it missed while offline, and sends what was written then', async () => {
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
  const shown = await until(room.messages, (shown) => ready(shown) && shown.items.length === 3)
  expect(texts(shown)).toEqual(['edited', 'second', 'from afar'])
})

test('a long channel can be paged both ways without missing or duplicate messages', async () => {
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
  // The pages may come before the events of the deletion and of the new message.
  const shown = await until(
    room.messages,
    (shown) => texts(shown).at(-1) === '131' && !texts(shown).includes('70'),
  )
  expect(texts(shown)).toEqual([...all.filter((text) => text !== '70'), '131'])
})

test('a thread is live, and a reply shows at once in the thread and in the channel', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const { id: parentId } = await ana.messages.send({ channelId, text: 'root' })
  await ana.messages.send({ channelId, text: 'one', parentId })
  const { chat } = await liveChatOf(world(), 'ben')
  const room = chat.channel(channelId)
  const thread = room.thread(parentId)
  expect(room.thread(parentId)).toBe(thread)
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

test('a removed member loses the room, and gets it back when added again', async () => {
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
  const shown = await until(room.messages, (shown) => ready(shown) && shown.items.length === 1)
  expect(texts(shown)).toEqual(['welcome back'])
})

test('keystrokes and reads are throttled', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const { id: last } = await ana.messages.send({ channelId, text: 'read me' })
  const { chat, proxy } = await liveChatOf(world(), 'ben')
  const room = chat.channel(channelId)
  for (let n = 0; n < 20; n++) room.keystroke()
  await Promise.all(Array.from({ length: 20 }, (_, n) => room.markRead(n % 2 ? last : undefined)))
  const requests = (path: string) =>
    proxy.requests.filter((request) => request.endsWith(path)).length
  await vi.waitUntil(() => requests('/typing') > 0, patient)
  expect([requests('/typing'), requests('/read')]).toEqual([1, 1])
})

test('a thread is loaded although its first message was deleted', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const { id: parentId } = await ana.messages.send({ channelId, text: 'root' })
  await ana.messages.send({ channelId, text: 'reply', parentId })
  await ana.messages.delete({ channelId, messageId: parentId })
  const { chat } = await liveChatOf(world(), 'ben')
  const thread = chat.channel(channelId).thread(parentId)
  thread.subscribe(() => {})
  expect(texts(await until(thread, ready))).toEqual(['reply'])
  expect(thread.getSnapshot().parent).toBeUndefined()
})

test('a public room stays open when its reader becomes a member by writing in it', async () => {
  const [ana] = await world().users('ana', 'joining')
  const { id: channelId } = await ana.channels.create({ type: 'public', name: 'Open' })
  const { chat } = await liveChatOf(world(), 'joining')
  const room = chat.channel(channelId)
  onTestFinished(room.watch())
  await until(room.messages, ready)
  const statuses = new Set<string>()
  onTestFinished(room.messages.subscribe(() => statuses.add(room.messages.getSnapshot().status)))
  const added = new Promise((resolve) => chat.on('channel.added', resolve))
  await room.send({ text: 'hello' }).sent
  await added
  await ana.messages.send({ channelId, text: 'welcome' })
  await until(room.messages, (shown) => !ready(shown) || texts(shown).join() === 'hello,welcome')
  expect([...statuses]).toEqual(['ready'])
})
