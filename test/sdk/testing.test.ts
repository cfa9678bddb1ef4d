import { type ChatClient, ChatError } from '@parley/client'
import {
  ChatProvider,
  useChannels,
  useConnection,
  useMembers,
  useMessages,
  usePresence,
  useThread,
  useTyping,
  useUnread,
} from '@parley/client/react'
import { createFakeChat } from '@parley/client/testing'
import { act, createElement } from 'react'
import { createRoot } from 'react-dom/client'
import { expect, onTestFinished, test } from 'vitest'
import { texts } from '../support/chat.ts'
import { useDom } from '../support/dom.ts'

const window = useDom({ acts: true })
const BEN = { id: 'ben', name: 'Ben', image: null }
const MEMBER = {
  ...{ userId: 'ben', user: BEN, role: 'member' as const, custom: {} },
  joinedAt: '2026-01-01T00:00:00.000Z',
}
const fakeOf = () => createFakeChat({ me: 'ana', channels: [{ id: 'team', name: 'Team' }] })

test('a fake client shows what arrives in every hook', async () => {
  const fake = fakeOf()
  const room = fake.channel('team')
  const root = room.receive({ from: BEN, text: 'root' })
  const Page = () => {
    const { items, totalUnread } = useChannels()
    const messages = useMessages('team', { replies: false })
    const thread = useThread('team', root.id)
    const [name, unread] = [items[0]?.name, useUnread().total]
    const { typists } = useTyping('team')
    const shown = [typists.length, useMembers('team').items.length]
    const status = [useConnection().status, usePresence('ben'), ...shown].join()
    const counts = messages.items.map(({ text, replyCount }) => text + replyCount)
    return [name, totalUnread, unread, status, counts, texts(thread), thread.parent?.text].join(' ')
  }
  const container = window.document.createElement('div')
  const page = createRoot(container as never) // an element of another DOM
  onTestFinished(() => act(() => page.unmount()))
  const client: ChatClient = fake
  await act(() => page.render(createElement(ChatProvider, { client }, createElement(Page))))
  expect(container.textContent).toBe('Team 1 1 live,false,0,0 root0  root')
  await act(() => {
    room.receive({ from: BEN, text: 'reply', parentId: root.id })
    room.show({ typing: [BEN], members: [MEMBER] })
    fake.setPresence('ben', { isOnline: true, lastActiveAt: null })
  })
  expect(container.textContent).toBe('Team 2 2 live,true,1,1 root1 reply root')
  await act(async () => {
    await room.markRead()
    fake.disconnect()
  })
  expect(container.textContent).toBe('Team 0 0 offline,true,1,1 root1 reply root')
})

test('a fake client sends, waits while offline, is refused, retries and discards', async () => {
  const fake = fakeOf()
  const room = fake.channel('team')
  const received: string[] = []
  const stop = fake.on('message.new', ({ payload }) => received.push(payload.message.text))
  const statuses = () => room.messages.getSnapshot().items.map(({ status }) => status)
  const one = await room.send({ text: 'one' }).sent
  expect(one).toMatchObject({ text: 'one', userId: 'ana', channelId: 'team' })
  fake.setOnline(false)
  const two = room.send({ text: 'two' })
  expect([statuses(), two.message.status]).toEqual([['sent', 'pending'], 'pending'])
  fake.setOnline(true)
  expect([(await two.sent).text, statuses(), received]).toEqual(['two', ['sent', 'sent'], received])
  expect(received).toEqual(['one', 'two'])
  stop()

  room.refuse(new ChatError('no', { code: 'FORBIDDEN', status: 403 }))
  const three = room.send({ text: 'three' })
  await expect(three.sent).rejects.toMatchObject({ code: 'FORBIDDEN' })
  expect(statuses()).toEqual(['sent', 'sent', 'failed'])
  expect(three.message.error).toMatchObject({ code: 'FORBIDDEN' })
  room.refuse()
  three.retry()
  await three.sent
  expect(three.message.error).toBeUndefined()
  const four = room.send({ text: 'four', clientId: 'own' })
  room.discard('own')
  await four.sent
  const shown = ['one', 'two', 'three', 'four'] // a message that is sent is no longer discarded
  expect([texts(room.messages.getSnapshot()), received.length]).toEqual([shown, 2])
})

test('a fake client that connects, as in a ChatProvider, is as online as set', async () => {
  const { connection, connect, disconnect, setOnline } = fakeOf()
  disconnect()
  await connect()
  expect(connection.getSnapshot().status).toBe('live')
  setOnline(false)
  await connect()
  expect(connection.getSnapshot().status).toBe('offline')
})

test('a fake room changes messages at once, and refuses those it does not have', async () => {
  const room = fakeOf().channel('team')
  const { id } = await room.send({ text: 'one' }).sent
  const shown = () => room.messages.getSnapshot().items[0]
  const before = room.messages.getSnapshot()
  expect(room.messages.getSnapshot()).toBe(before)
  await room.edit(id, { text: 'edited' })
  await room.react(id, '👍')
  await room.pin(id)
  expect(shown()).toMatchObject({ text: 'edited', reactions: [{ type: '👍', own: true }] })
  expect(texts(room.pins.getSnapshot())).toEqual(['edited'])
  await room.unreact(id, '👍')
  await room.unpin(id)
  expect([shown()?.reactions, room.pins.getSnapshot().items]).toEqual([[], []])
  await room.delete(id)
  expect(room.messages.getSnapshot().items).toEqual([])
  const notFound = { code: 'NOT_FOUND' }
  await expect(room.edit('nothing', { text: '' })).rejects.toMatchObject(notFound)
  await expect(room.messages.jumpTo('nothing')).rejects.toMatchObject(notFound)
})

test('a fake room deletes unsent messages unsent, and pinned ones with their pins', async () => {
  const fake = fakeOf()
  const room = fake.channel('team')
  const { id } = await room.send({ text: 'pinned' }).sent
  await room.pin(id)
  await room.delete(id)
  expect(room.pins.getSnapshot().items).toEqual([])
  fake.setOnline(false)
  const unsent = room.send({ text: 'unsent' })
  await room.delete(unsent.clientId)
  fake.setOnline(true)
  await expect(unsent.sent).rejects.toMatchObject({ code: 'ABORTED' })
  expect(room.messages.getSnapshot().items).toEqual([])
})

test('a fake client answers the calls of a test, and names the one that is missing', async () => {
  const list = async () => ({ users: [], nextCursor: null })
  const fake = createFakeChat({ api: { users: { list } } })
  expect(await fake.api.users.list({})).toEqual({ users: [], nextCursor: null })
  await expect(fake.api.users.get({ userId: 'ben' })).rejects.toThrow('users.get')
  await expect(fake.api.channels.list({})).rejects.toThrow('channels.list')
  const direct = { id: 'dm-ben', cid: 'messaging:dm-ben', type: 'messaging', name: 'ben' }
  expect((await fake.dm('ben')).info.getSnapshot().channel).toMatchObject(direct)
  const [all] = [fake.channels()]
  const teams = fake.channels({ type: 'team' })
  fake.channel('dm-ben').receive({ from: BEN, text: 'one' })
  expect([all === fake.channels(), all.getSnapshot().items.length]).toEqual([true, 1])
  expect(teams.getSnapshot().items).toEqual([])
})

test('a message of a fake client has its own fields and what it quotes', async () => {
  const room = fakeOf().channel('team')
  const one = await room.send({ text: 'one' }).sent
  const own = {
    custom: { kind: 'x' },
    attachments: [{ type: 'image', url: 'https://example.com/a.png' }],
  }
  const two = await room.send({ ...own, text: 'two', quotedMessageId: one.id }).sent
  expect(two).toMatchObject({ ...own, quotedMessage: { id: one.id, text: 'one' } })
})

test('a fake client refuses what is discarded, and metadata alone edits no message', async () => {
  const fake = fakeOf()
  const room = fake.channel('team')
  const { id } = await room.send({ text: 'one' }).sent
  expect(await room.edit(id, { custom: { kind: 'x' } })).toMatchObject({ editedAt: null })
  expect((await room.edit(id, { text: 'two' })).editedAt).not.toBeNull()
  fake.setOnline(false)
  const message = room.send({ text: 'unsent' })
  message.discard()
  await expect(message.sent).rejects.toMatchObject({ code: 'ABORTED' })
  expect(texts(room.messages.getSnapshot())).toEqual(['two'])
})

test('messages of a fake room stay apart although one before them was discarded', async () => {
  const fake = fakeOf()
  const room = fake.channel('team')
  fake.setOnline(false)
  const [first, ...others] = ['a', 'b', 'c'].map((text) => {
    if (text === 'c') room.discard('a')
    return room.send({ text, clientId: text })
  })
  fake.setOnline(true)
  await expect(first?.sent).rejects.toMatchObject({ code: 'ABORTED' })
  const [b, c] = await Promise.all(others.map(({ sent }) => sent))
  expect(b?.id).not.toBe(c?.id)
  await room.edit(c?.id ?? '', { text: 'edited' })
  expect(texts(room.messages.getSnapshot())).toEqual(['b', 'edited'])
})

test('a fake client retries only what was refused, as the real one does', async () => {
  const fake = fakeOf()
  const room = fake.channel('team')
  const received: string[] = []
  fake.on('message.new', ({ payload }) => received.push(payload.message.text))
  const sent = room.send({ text: 'sent', clientId: 'sent' })
  await sent.sent
  sent.retry()
  room.retry('sent')
  sent.discard()
  for (const act of [room.retry, room.discard]) expect(() => act('nothing')).not.toThrow()
  fake.setOnline(false)
  const pending = room.send({ text: 'pending', clientId: 'pending' })
  const answer = pending.sent
  room.retry('pending')
  fake.setOnline(true)
  expect((await answer).text).toBe('pending')
  expect(received).toEqual(['sent', 'pending'])
  expect(texts(room.messages.getSnapshot())).toEqual(received)
})

test('the channels of a fake client are in the order of their activity, newest first', async () => {
  const dated = { id: 'newest', createdAt: '2026-02-01T00:00:00.000Z' }
  const fake = createFakeChat({ channels: [{ id: 'team' }, { id: 'group' }, dated] })
  const ids = () =>
    fake
      .channels()
      .getSnapshot()
      .items.map(({ id }) => id)
  expect(ids()).toEqual(['newest', 'team', 'group'])
  fake.channel('group').receive({ from: BEN, text: 'one' })
  expect(ids()).toEqual(['group', 'newest', 'team'])
  await fake.channel('team').send({ text: 'two' }).sent
  await fake.channel('group').markRead()
  expect(ids()).toEqual(['team', 'group', 'newest'])
  fake.channel('group').receive({ from: BEN, text: 'three' })
  expect(ids()).toEqual(['group', 'team', 'newest'])
})

test('a fake channel shows its last message, and a fake logout ends the user', async () => {
  const fake = fakeOf()
  await fake.channel('team').send({ text: 'last' }).sent
  expect(fake.channels().getSnapshot().items[0]?.lastMessage?.text).toBe('last')
  expect(fake.me.getSnapshot()?.id).toBe('ana')
  const received: string[] = []
  for (const type of ['logout', 'resync'] as const) fake.on(type, () => received.push(type))
  fake.emit({ type: 'resync', channelIds: ['team'] })
  expect(received).toEqual(['resync'])
  await fake.logout()
  await expect(fake.connect()).rejects.toMatchObject({ code: 'ABORTED' })
  expect([fake.me.getSnapshot(), fake.connection.getSnapshot().status, received]).toEqual([
    null,
    'offline',
    ['resync', 'logout'],
  ])
})
