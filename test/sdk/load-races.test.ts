import { expect, onTestFinished, test } from 'vitest'
import { isLive, isOffline, ready, texts, until } from '../support/chat.ts'
import { quiet, type ScriptedChat, scriptedChat } from '../support/scripted/index.ts'

/** The first page comes with members and read positions. */
const FIRST_PAGE = /POST \/api\/sync$/
const OLDER_PAGE = /GET .*\/messages\?limit=50&before=/
const JUMP = /GET .*\/messages\/c-\d+$/

/** A client that watches a room with a number of messages, and is live once it has loaded. */
function watching(chat: ScriptedChat, { count = 0 } = {}) {
  const channel = chat.channel('c')
  for (let n = 1; n <= count; n++) channel.send(`${n}`)
  const room = chat.chat.channel('c')
  for (const each of [room.messages, room.members, room.pins, room.reads]) each.subscribe(() => {})
  void chat.chat.connect()
  return { channel, room, stop: room.watch() }
}
/** The same, with its first page loaded. */
async function opened(chat: ScriptedChat, options: { count?: number } = {}) {
  const scene = watching(chat, options)
  await isLive(chat.chat)
  await until(scene.room.messages, ready)
  await quiet()
  return scene
}
const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index}`)

test('events during the first load are applied to its answer', async () => {
  const chat = scriptedChat()
  const first = chat.hold(FIRST_PAGE)
  const { channel, room } = watching(chat, { count: 3 })
  await first.asked
  channel.edit('c-0001', 'edited')
  channel.delete('c-0002')
  channel.react('c-0003', '👍')
  channel.send('4')
  await quiet()
  first.release()
  const { items } = await until(room.messages, ready)
  expect(items.map(({ text, reactions }) => [text, reactions.length])).toEqual([
    ['edited', 0],
    ['3', 1],
    ['4', 0],
  ])
})

test('events during the load of members, reads and pins are applied to their answers', async () => {
  const chat = scriptedChat()
  const [first, pins] = [chat.hold(FIRST_PAGE), chat.hold(/\/pins\?/)]
  const { channel, room } = watching(chat, { count: 2 })
  await first.asked
  channel.join('ben')
  channel.read('ana', 2)
  first.release()
  await pins.asked
  channel.pin('c-0001')
  pins.release()
  await until(room.members, (members) => ready(members) && members.items.length === 3)
  const { byUser } = await until(room.reads, ({ byUser }) => byUser.ana?.lastReadSeq === 2)
  expect(byUser.ben?.lastReadSeq).toBe(0)
  await until(room.pins, (pins) => ready(pins) && pins.items[0]?.pinnedBy === 'ana')
})

test('an older page requested before an edit and a deletion does not undo them', async () => {
  const chat = scriptedChat()
  const { channel, room } = await opened(chat, { count: 60 })
  await room.thread('c-0003').loadOlder()
  const thread = room.thread('c-0003')
  await until(thread, ready)
  const older = chat.hold(OLDER_PAGE)
  const loaded = room.messages.loadOlder()
  await older.asked
  channel.edit('c-0003', 'edited')
  channel.delete('c-0004')
  channel.react('c-0005', '👍')
  await quiet()
  older.release()
  await loaded
  const { items } = room.messages.getSnapshot()
  expect(texts({ items }).slice(0, 5)).toEqual(['1', '2', 'edited', '5', '6'])
  expect(items[3]?.reactions).toHaveLength(1)
})

test('a message that was edited after a request keeps the edit when the answer comes', async () => {
  const chat = scriptedChat()
  const { channel, room } = await opened(chat, { count: 3 })
  const again = chat.hold(FIRST_PAGE)
  const latest = room.messages.jumpToLatest()
  await again.asked
  channel.edit('c-0001', 'edited')
  channel.delete('c-0002')
  channel.send('4')
  await quiet()
  expect(texts(room.messages.getSnapshot())).toEqual(['edited', '3', '4'])
  again.release()
  await latest
  expect(texts(room.messages.getSnapshot())).toEqual(['edited', '3', '4'])
})

test('an older page that arrives after a jump leaves no gap in the messages', async () => {
  const chat = scriptedChat()
  const { room } = await opened(chat, { count: 300 })
  const older = chat.hold(OLDER_PAGE)
  const paged = room.messages.loadOlder()
  await older.asked
  await room.messages.jumpTo('c-0100')
  expect(texts(room.messages.getSnapshot())).toEqual(numbers(75, 125))
  older.release()
  await paged
  expect(texts(room.messages.getSnapshot())).toEqual(numbers(75, 125))
  await room.messages.loadOlder()
  expect(texts(room.messages.getSnapshot())).toEqual(numbers(25, 125))
})

test('an older page that arrives after a return to the newest leaves no gap', async () => {
  const chat = scriptedChat()
  const { room } = await opened(chat, { count: 300 })
  await room.messages.jumpTo('c-0100')
  const older = chat.hold(OLDER_PAGE)
  const paged = room.messages.loadOlder()
  await older.asked
  await room.messages.jumpToLatest()
  older.release()
  await paged
  expect(texts(room.messages.getSnapshot())).toEqual(numbers(251, 300))
})

test('the later of two jumps is shown, whichever is answered first', async () => {
  const chat = scriptedChat()
  const { room } = await opened(chat, { count: 300 })
  const slow = chat.hold(JUMP)
  const one = room.messages.jumpTo('c-0100')
  await slow.asked
  await room.messages.jumpTo('c-0200')
  expect(texts(room.messages.getSnapshot())).toEqual(numbers(175, 225))
  slow.release()
  await one
  expect(texts(room.messages.getSnapshot())).toEqual(numbers(175, 225))
})

test('a jump answered after the user returned to the newest messages is ignored', async () => {
  const chat = scriptedChat()
  const { room } = await opened(chat, { count: 300 })
  const slow = chat.hold(JUMP)
  const jumped = room.messages.jumpTo('c-0100')
  await slow.asked
  await room.messages.jumpToLatest()
  slow.release()
  await jumped
  expect(texts(room.messages.getSnapshot())).toEqual(numbers(251, 300))
})

test('a jump made while the room opens is not undone by its first page', async () => {
  const chat = scriptedChat()
  const first = chat.hold(FIRST_PAGE)
  const { room } = watching(chat, { count: 300 })
  await first.asked
  await room.messages.jumpTo('c-0100')
  first.release()
  await until(room.messages, ready)
  expect(texts(room.messages.getSnapshot())).toEqual(numbers(75, 125))
  await room.messages.jumpToLatest()
  expect(texts(room.messages.getSnapshot())).toEqual(numbers(251, 300))
})

test('a first page overtaken by a reconnect is not applied', async () => {
  const chat = scriptedChat()
  const first = chat.hold(FIRST_PAGE)
  const { channel, room } = watching(chat, { count: 2 })
  await first.asked
  chat.cut()
  await isOffline(chat.chat)
  channel.edit('c-0001', 'edited')
  channel.send('3')
  chat.loseEvents()
  chat.mend()
  await isLive(chat.chat)
  await until(room.messages, ready)
  first.release()
  await quiet()
  expect(texts(room.messages.getSnapshot())).toEqual(['edited', '2', '3'])
})

test('pins of messages that are not loaded follow edits, pins and deletions', async () => {
  const chat = scriptedChat()
  const channel = chat.channel('c')
  for (let n = 1; n <= 100; n++) channel.send(`${n}`)
  for (const id of ['c-0001', 'c-0002', 'c-0003']) channel.pin(id)
  const room = chat.chat.channel('c')
  room.watch()
  room.pins.subscribe(() => {})
  await chat.chat.connect()
  const shown = (expected: string) =>
    until(room.pins, (pins) => ready(pins) && texts(pins).join() === expected)
  await shown('3,2,1')
  channel.edit('c-0001', 'edited')
  channel.delete('c-0002')
  channel.unpin('c-0003')
  await shown('edited')
  channel.pin('c-0004')
  await shown('4,edited')
  expect(texts(room.messages.getSnapshot())).toEqual(numbers(51, 100))
})

test('pins that were deleted or unpinned while they were loading are not shown', async () => {
  const chat = scriptedChat()
  const held = chat.hold(/\/pins\?/)
  const { channel, room } = watching(chat, { count: 3 })
  await held.asked
  await until(room.messages, ready)
  held.release()
  await until(room.pins, ready)
  for (const id of ['c-0001', 'c-0002', 'c-0003']) channel.pin(id)
  await until(room.pins, ({ items }) => items.length === 3)
  const again = chat.hold(/\/pins\?/)
  chat.cut()
  await isOffline(chat.chat)
  chat.loseEvents()
  chat.mend()
  await again.asked
  channel.unpin('c-0001')
  channel.delete('c-0002')
  await quiet()
  again.release()
  await until(room.pins, (pins) => ready(pins) && texts(pins).join() === '3')
})

test('without a connection a room loads nothing new, and what it loads is stale', async () => {
  const { chat, channel, hold, cut, requests } = scriptedChat()
  const talk = channel('c')
  for (let n = 0; n < 60; n++) talk.send(String(n))
  await chat.connect()
  const room = chat.channel('c')
  onTestFinished(room.watch())
  await until(room.messages, ready)
  const held = hold(/messages\?.*before=/)
  const older = room.messages.loadOlder()
  await held.asked
  cut()
  await isOffline(chat)
  const before = requests.length
  onTestFinished(room.members.subscribe(() => {}))
  held.release()
  await older
  await quiet()
  expect(room.messages.getSnapshot().status).toBe('stale')
  expect(requests.slice(before)).toEqual([])
})
