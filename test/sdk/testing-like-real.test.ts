import { ChatError, type ChatEvents } from '@parley/client'
import { createFakeChat } from '@parley/client/testing'
import { expect, test } from 'vitest'
import { texts } from '../support/chat.ts'

const ABORTED = { code: 'ABORTED' }

function fakeRoom() {
  const fake = createFakeChat({ me: 'ana', channels: [{ id: 'team', name: 'Team' }] })
  const room = fake.channel('team')
  const shown = () => texts(room.messages.getSnapshot())
  const record = () => room.info.getSnapshot().channel
  return { fake, room, shown, record }
}

test('a fake client has one message of each key, however often it is sent', async () => {
  const { fake, room, shown } = fakeRoom()
  const received: ChatEvents['message.new'][] = []
  fake.on('message.new', (event) => received.push(event))
  fake.setOnline(false)
  const [first, again] = [1, 2].map(() => room.send({ text: 'one', clientId: 'x' }))
  expect(shown()).toEqual(['one'])
  fake.setOnline(true)
  const later = room.send({ text: 'one', clientId: 'x' })
  const answers = await Promise.all([first?.sent, again?.sent, later.sent])
  expect(new Set(answers.map((answer) => answer?.id)).size).toBe(1)
  expect([shown(), received.length]).toEqual([['one'], 1])
})

test('a retry in a fake room replaces the answer of every handle of the message', async () => {
  const { room } = fakeRoom()
  room.refuse(new ChatError('no', { code: 'FORBIDDEN', status: 403 }))
  const message = room.send({ text: 'one', clientId: 'x' })
  const other = room.send({ text: 'one', clientId: 'x' })
  await expect(other.sent).rejects.toMatchObject({ code: 'FORBIDDEN' })
  room.refuse()
  room.retry('x')
  expect([(await message.sent).text, (await other.sent).text]).toEqual(['one', 'one'])
})

test('a discarded message of a fake room can be sent again by its key', async () => {
  const { fake, room, shown } = fakeRoom()
  fake.setOnline(false)
  const first = room.send({ text: 'first', clientId: 'x' })
  first.discard()
  const second = room.send({ text: 'second', clientId: 'x' })
  fake.setOnline(true)
  await expect(first.sent).rejects.toMatchObject(ABORTED)
  expect([(await second.sent).text, shown()]).toEqual(['second', ['second']])
})

test('unsent messages of a fake room are at the end, and stored ones in their order', async () => {
  const { fake, room, shown } = fakeRoom()
  const seqs = () => room.messages.getSnapshot().items.map(({ seq }) => seq)
  fake.setOnline(false)
  const mine = room.send({ text: 'mine' })
  room.send({ text: 'discarded', clientId: 'discarded' })
  room.discard('discarded')
  const first = room.receive({ from: 'ben', text: 'theirs' })
  expect([shown(), first.seq]).toEqual([['theirs', 'mine'], 1])
  fake.setOnline(true)
  expect((await mine.sent).seq).toBe(2)
  room.receive({ from: 'ben', text: 'later' })
  expect([shown(), seqs()]).toEqual([
    ['theirs', 'mine', 'later'],
    [1, 2, 3],
  ])
})

test('a message that is retried in a fake room goes after those that wait', async () => {
  const { fake, room, shown } = fakeRoom()
  room.refuse(new ChatError('no', { code: 'FORBIDDEN', status: 403 }))
  const refused = room.send({ text: 'refused' })
  room.refuse()
  fake.setOnline(false)
  room.send({ text: 'waiting' })
  expect(shown()).toEqual(['refused', 'waiting'])
  refused.retry()
  expect(shown()).toEqual(['waiting', 'refused'])
  fake.setOnline(true)
  expect((await refused.sent).seq).toBe(2)
})

test('a reply to an unsent message of a fake room is in its thread once sent', async () => {
  const { fake, room } = fakeRoom()
  fake.setOnline(false)
  const root = room.send({ text: 'root' })
  room.send({ text: 'reply', parentId: root.clientId })
  fake.setOnline(true)
  const { id } = await root.sent
  const thread = room.thread(id).getSnapshot()
  expect([texts(thread), thread.parent?.replyCount]).toEqual([['reply'], 1])
})

test('a fake logout discards what is unsent, in every room, and ends once', async () => {
  const { fake, room, shown } = fakeRoom()
  const received: string[] = []
  fake.on('logout', ({ type }) => received.push(type))
  await room.send({ text: 'sent' }).sent
  room.refuse(new ChatError('no', { code: 'FORBIDDEN', status: 403 }))
  room.send({ text: 'refused' })
  fake.setOnline(false)
  const unsent = [room, fake.channel('other')].map((each) => each.send({ text: 'unsent' }))
  await fake.logout()
  for (const { sent } of unsent) await expect(sent).rejects.toMatchObject(ABORTED)
  expect(shown()).toEqual(['sent'])
  await fake.logout()
  expect(received).toEqual(['logout'])
})

test('after a fake logout nothing is sent or changed, and no network brings it back', async () => {
  const { fake, room, shown } = fakeRoom()
  const { id } = await room.send({ text: 'sent', clientId: 'x' }).sent
  room.receive({ from: 'ben', text: 'theirs' })
  const before = room.messages.getSnapshot()
  await fake.logout()
  fake.setOnline(true)
  expect(fake.connection.getSnapshot().status).toBe('offline')
  for (const clientId of ['x', 'y']) {
    const message = room.send({ text: 'after', clientId })
    await expect(message.sent).rejects.toMatchObject(ABORTED)
  }
  const changes = [
    ...[() => room.edit(id, { text: 'edited' }), () => room.delete(id), () => room.markRead()],
    ...[() => room.react(id, '👍'), () => room.unreact(id, '👍')],
    ...[() => room.pin(id), () => room.unpin(id)],
  ]
  for (const change of changes) await expect(change()).rejects.toMatchObject(ABORTED)
  expect(room.messages.getSnapshot()).toBe(before)
  expect(shown()).toEqual(['sent', 'theirs'])
})

test('a deleted reply of a fake room is no longer counted', async () => {
  const { room } = fakeRoom()
  const { id } = await room.send({ text: 'root' }).sent
  const reply = await room.send({ text: 'reply', parentId: id }).sent
  const count = () => room.thread(id).getSnapshot().parent?.replyCount
  expect(count()).toBe(1)
  await room.delete(reply.id)
  await room.delete(reply.id)
  expect(count()).toBe(0)
})

test('a fake channel shows its last message as it was changed, and the one before it', async () => {
  const given = fakeRoom().room.receive({ from: 'ben', text: 'given' })
  const channels = [{ id: 'team', lastMessage: { ...given, seq: 7 } }]
  const fake = createFakeChat({ me: 'ana', channels })
  const room = fake.channel('team')
  const shown = () => fake.channels().getSnapshot().items[0]?.lastMessage?.text
  const one = await room.send({ text: 'one' }).sent
  const two = await room.send({ text: 'two' }).sent
  expect(one.seq).toBe(8)
  await room.edit(two.id, { text: 'edited' })
  expect(shown()).toBe('edited')
  await room.delete(two.id)
  expect(shown()).toBe('one')
  await room.delete(one.id)
  expect(shown()).toBe('given')
})

test('reading in a fake room moves the read position, up to a message or to the end', async () => {
  const { room, record } = fakeRoom()
  const [, second] = ['a', 'b', 'c'].map((text) => room.receive({ from: 'ben', text }))
  await room.send({ text: 'own' }).sent
  await room.markRead(second?.id)
  expect(record()).toMatchObject({ lastReadSeq: 2, unreadCount: 1 })
  await room.markRead('message-1')
  expect(record()).toMatchObject({ lastReadSeq: 2, unreadCount: 1 })
  await room.markRead()
  expect(record()).toMatchObject({ lastReadSeq: 4, unreadCount: 0 })
})

test('a fake room shows how far its user has read', async () => {
  const { fake, room } = fakeRoom()
  fake.channel('team').receive({ from: 'ben', text: 'one' })
  const { seq, id } = room.messages.getSnapshot().items[0] ?? {}
  let changes = 0
  room.reads.subscribe(() => {
    changes += 1
  })
  await room.markRead(id)
  expect(room.reads.getSnapshot().byUser.ana?.lastReadSeq).toBe(seq)
  expect(changes).toBe(1)
})
