import { emptyState } from '@parley/client/internal/room/state'
import { addNewest, trimWindow } from '@parley/client/internal/room/timeline'
import { expect, onTestFinished, test } from 'vitest'
import { isLive, isOffline, ready, until } from '../support/chat.ts'
import { createChannel, timeOf } from '../support/scripted/channel.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** The messages, members and reads that a room keeps, and those that it lets go. */

/** A live room of one message, of which everything is shown. */
async function opened() {
  const chat = scriptedChat()
  const talk = chat.channel('c')
  talk.send('1')
  await chat.chat.connect()
  const room = chat.chat.channel('c')
  const { messages, members, reads, pins, typing } = room
  for (const store of [messages, members, reads, pins, typing])
    onTestFinished(store.subscribe(() => {}))
  await Promise.all([until(messages, ready), until(members, ready), until(reads, ready)])
  return { ...chat, talk, room }
}
const FORBIDDEN = { status: 'failed', error: { code: 'FORBIDDEN' } }

test('the result of a load that access was lost during is not shown', async () => {
  const { room, talk, hold, emit } = await opened()
  talk.send('reply', { parentId: 'c-0001' })
  const held = hold(/replies/)
  const thread = room.thread('c-0001')
  thread.subscribe(() => {})
  await held.asked
  emit('channel.removed', { channelId: 'c' })
  await until(thread, ({ status }) => status === 'failed')
  held.release()
  await quiet()
  expect(thread.getSnapshot()).toMatchObject({ items: [], ...FORBIDDEN })
})

test('a load that failed before access was lost is not tried again', async () => {
  const clock = stoppedClock()
  const { chat, channel, count, refuseRequests, emit } = scriptedChat()
  channel('c').send('1')
  await chat.connect()
  const room = chat.channel('c')
  refuseRequests(/pins/)
  onTestFinished(room.pins.subscribe(() => {}))
  await clock.forward(1)
  await until(room.pins, ({ status }) => status === 'failed')
  emit('channel.removed', { channelId: 'c' })
  await quiet()
  const before = count(/pins/)
  refuseRequests()
  await clock.forward(60_000)
  room.react('c-0001', '👍').catch(() => {}) // what is shown is computed again
  expect(room.pins.getSnapshot()).toMatchObject(FORBIDDEN)
  expect(count(/pins/)).toBe(before)
})

test('a deleted message leaves nothing above its thread', async () => {
  const { room, talk } = await opened()
  const linkPreviews = [{ url: 'https://x.example', title: 'X' }]
  Object.assign(talk.find('c-0001'), { linkPreviews, custom: { orderId: 7 } })
  talk.edit('c-0001', 'https://x.example')
  const thread = room.thread('c-0001')
  onTestFinished(thread.subscribe(() => {}))
  await until(thread, ({ parent }) => parent?.linkPreviews?.length === 1)
  talk.delete('c-0001')
  const { parent } = await until(thread, (shown) => shown.parent?.deletedAt !== null)
  expect(parent).toMatchObject({ text: '', attachments: [], reactions: [], pinned: false })
  expect(Object.keys(parent ?? {})).not.toEqual(expect.arrayContaining(['linkPreviews']))
  expect(Object.keys(parent ?? {})).not.toEqual(expect.arrayContaining(['custom']))
})

test('a changed profile changes no other user', async () => {
  const { chat, emit } = await opened()
  const rename = async (id: string, name: string) => {
    emit('user.updated', { user: { id, name, image: null } })
    await quiet()
    return chat.me.getSnapshot()
  }
  const me = chat.me.getSnapshot()
  expect(await rename('ana', 'Anna')).toEqual(me)
  expect(await rename('me', 'Myself')).toEqual({ ...me, name: 'Myself' })
})

test('a member who leaves no longer types', async () => {
  const { room, talk } = await opened()
  talk.type('ana')
  await until(room.typing, ({ items }) => items.length === 1)
  talk.leave('ana')
  await until(room.members, ({ items }) => items.length === 1)
  expect(room.typing.getSnapshot().items).toEqual([])
})

test('a member whose role and metadata change keeps the time of joining', async () => {
  const { room, talk, publish } = await opened()
  const [, ana] = talk.members
  if (!ana) throw new Error('ana is a member')
  const custom = { title: 'boss' }
  const { joinedAt, ...member } = { ...ana, role: 'moderator' as const, custom }
  const payload = { channelId: 'c', ...member, memberCount: 2 }
  publish('chat:app:c', { type: 'channel.member_updated', payload }, talk.rev + 1)
  const { items } = await until(room.members, (shown) =>
    shown.items.some(({ role }) => role === 'moderator'),
  )
  expect(items.find(({ userId }) => userId === 'ana')).toMatchObject({ joinedAt, custom })
})

test('the time of a read stays known after an outage', async () => {
  const { chat, room, talk, cut, mend } = await opened()
  talk.send('2', { by: 'me' })
  talk.read('ana', 2)
  const readAt = ({ byUser }: { byUser: Record<string, { readAt: string | null }> }) =>
    byUser.ana?.readAt
  await until(room.reads, (reads) => readAt(reads) === timeOf(talk.rev))
  cut()
  await isOffline(chat)
  mend()
  await isLive(chat)
  const reads = await until(room.reads, ready)
  expect(readAt(reads)).toBe(timeOf(talk.rev))
})

test('a read that an outage hid is shown without the time of an earlier one', async () => {
  const { chat, room, talk, cut, mend } = await opened()
  for (const text of ['2', '3']) talk.send(text, { by: 'me' })
  talk.read('ana', 2)
  await until(room.reads, ({ byUser: { ana } }) => ana?.lastReadSeq === 2)
  cut()
  await isOffline(chat)
  talk.read('ana', 3)
  mend()
  await isLive(chat)
  const { byUser } = await until(room.reads, ({ byUser: { ana } }) => ana?.lastReadSeq === 3)
  expect(byUser.ana).toEqual({ lastReadSeq: 3, readAt: null })
})

test('pinned messages and those of open threads are kept above the window', () => {
  const talk = createChannel('c', { me: 'me', memberIds: ['me', 'ana'], publish: () => {} })
  const [pinned, root] = [talk.send('pinned'), talk.send('root')]
  const reply = talk.send('reply', { parentId: root.id })
  talk.pin(pinned.id)
  const others = Array.from({ length: 8 }, (_, index) => talk.send(`${index}`))
  const page = { hasMore: false } as const
  const whole = addNewest(emptyState, { ...page, messages: talk.messages })
  const state = addNewest(whole, { ...page, messages: [reply] }, { parentId: root.id })
  const kept = trimWindow(state, 4).messages.values()
  expect(kept.map(({ id }) => id)).toEqual(
    [pinned, root, reply, ...others.slice(-2)].map(({ id }) => id),
  )
})
