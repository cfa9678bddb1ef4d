import { expect, test } from 'vitest'
import { isLive, isOffline, ready, texts, until } from '../support/chat.ts'
import { quiet, type ScriptedChat, scriptedChat } from '../support/scripted/index.ts'
import { openAndLeave } from '../support/scripted/leave.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** A backup is restored while a client is running: what it lacks is gone, and revs start over. */

const SYNC = /^POST \/api\/sync$/

/** A channel whose messages the backup has, and others that are newer than it. */
function talkOf({ channel }: ScriptedChat, id = 'c') {
  const talk = channel(id)
  talk.send('kept')
  talk.send('reply', { parentId: `${id}-0001` })
  for (let n = 1; n <= 20; n++) talk.send(`lost ${n}`)
  return talk
}
/** The same channel as the backup has it, and what was sent there since. */
function restored({ channel }: ScriptedChat, id = 'c') {
  const talk = channel(id)
  talk.send('kept')
  talk.send('reply', { parentId: `${id}-0001` })
  talk.send('new')
  return talk
}
async function goOffline({ chat, cut }: ScriptedChat) {
  cut()
  await isOffline(chat)
}
async function comeBack({ chat, mend }: ScriptedChat) {
  mend()
  chat.wake()
  await isLive(chat)
}

test('a room that is open while a backup is restored shows the backup alone', async () => {
  const server = scriptedChat()
  const { chat } = server
  const before = talkOf(server)
  before.join('gone')
  before.read('ana')
  before.pin('c-0003')
  before.edit('c-0001', 'lost edit')
  await chat.connect()
  const room = chat.channel('c')
  const thread = room.thread('c-0001')
  const { messages, members, reads, pins } = room
  const stores = [messages, members, reads, pins, thread]
  for (const store of stores) store.subscribe(() => {})
  await until(pins, ({ items }) => items.length === 1)
  await until(thread, ready)

  await goOffline(server)
  server.newEpoch()
  const after = restored(server)
  await comeBack(server)
  for (const store of stores) await until<{ status: string }>(store, ready)
  expect(texts(messages.getSnapshot())).toEqual(['kept', 'reply', 'new'])
  expect(texts(thread.getSnapshot())).toEqual(['reply'])
  expect(thread.getSnapshot().parent?.text).toBe('kept')
  expect(members.getSnapshot().items.map(({ userId }) => userId)).toEqual(['me', 'ana'])
  expect(reads.getSnapshot().byUser).toMatchObject({ ana: { lastReadSeq: 3 } })
  expect(reads.getSnapshot().byUser).not.toHaveProperty('gone')
  expect(pins.getSnapshot().items).toEqual([])
  after.edit('c-0003', 'edited')
  after.pin('c-0001')
  await until(messages, (shown) => texts(shown).join() === 'kept,reply,edited')
  await until(pins, (shown) => texts(shown).join() === 'kept')
})

test('a list that is open while a backup is restored shows the backup alone', async () => {
  const server = scriptedChat()
  const { chat, channel, data } = server
  const id = '00000000-0000-4000-8000-000000000001'
  const [first, second, gone] = [talkOf(server, id), talkOf(server, 'b'), channel('gone')]
  first.own.name = 'newer name'
  second.send('which made it the newest')
  gone.send('a channel that the backup lacks')
  for (let count = 1; count <= 9; count++) first.own.unreadCount = count
  first.read('me')
  data.total = 9
  data.settingsVersion = 5
  first.own.starred = true
  const list = chat.channels()
  const { info } = chat.channel(id)
  info.subscribe(() => {})
  list.subscribe(() => {})
  await chat.connect()
  expect((await until(list, ready)).items.map(({ id }) => id)).toEqual(['b', id, 'gone'])

  await goOffline(server)
  server.newEpoch()
  Object.assign(data, { total: 1, snapshot: 0, settingsVersion: 0 })
  data.channels.delete('gone')
  server.refuse('chat:app:gone')
  const a = restored(server, id)
  a.own.unreadCount = 1
  a.send('newer')
  restored(server, 'b')
  await comeBack(server)
  const { items, totalUnread } = await until(list, ready)
  const rows = items.map(({ id, name, lastMessage }) => [id, name, lastMessage?.text])
  expect(rows).toEqual([
    [id, id, 'newer'],
    ['b', 'b', 'new'],
  ])
  expect([totalUnread, items[0]?.unreadCount, items[0]?.lastReadSeq]).toEqual([1, 1, 0])
  expect(items[0]?.starred).toBe(false)
  expect(await until(info, ready)).toMatchObject({ channel: { name: id, rev: a.rev } })
  a.send('newest')
  await until(list, (shown) => shown.items[0]?.lastMessage?.text === 'newest')
})

test('a room left before a backup is restored shows the backup when it is back', async () => {
  const clock = stoppedClock()
  const server = scriptedChat()
  const { chat } = server
  talkOf(server)
  await chat.connect()
  const { messages } = chat.channel('c')
  await openAndLeave(messages, clock)
  await goOffline(server)
  server.newEpoch()
  restored(server)
  server.mend()
  chat.wake()
  await clock.forward(10)
  messages.subscribe(() => {})
  await clock.forward(10)
  expect(texts(await until(messages, ready))).toEqual(['kept', 'reply', 'new'])
})

test('a message sent in an unwatched room goes if the backup lacks it', async () => {
  const server = scriptedChat()
  const { chat } = server
  talkOf(server)
  await chat.connect()
  const room = chat.channel('c')
  await room.send({ text: 'sent' }).sent
  await goOffline(server)
  server.newEpoch()
  restored(server)
  await comeBack(server)
  room.messages.subscribe(() => {})
  expect(texts(await until(room.messages, ready))).toEqual(['kept', 'reply', 'new'])
})

test('a room whose start over is cut off starts over with the next connection', async () => {
  const server = scriptedChat()
  const { chat, hold } = server
  talkOf(server)
  await chat.connect()
  const { messages } = chat.channel('c')
  messages.subscribe(() => {})
  await until(messages, ready)
  await goOffline(server)
  server.newEpoch()
  restored(server)
  const lost = hold(SYNC)
  server.mend()
  chat.wake()
  await lost.asked
  await goOffline(server)
  await comeBack(server)
  await quiet()
  expect(texts(await until(messages, ready))).toEqual(['kept', 'reply', 'new'])
})

test('a gap of the revs before the backup is not filled with those after it', async () => {
  const server = scriptedChat()
  const { chat, hold, intercept } = server
  const before = talkOf(server)
  await chat.connect()
  const { messages } = chat.channel('c')
  messages.subscribe(() => {})
  await until(messages, ready)
  const lost = hold(SYNC)
  await goOffline(server)
  before.send('missed')
  server.loseEvents()
  server.mend()
  chat.wake()
  await lost.asked
  await goOffline(server)
  server.newEpoch()
  const { rev, record } = restored(server)
  const changes = { c: { rev, channel: record(), messages: [] } }
  intercept(SYNC, () => Response.json({ channels: changes, more: false, settingsVersion: 0 }))
  const page = hold(/GET .*\/messages\?limit=50$/)
  server.mend()
  chat.wake()
  await page.asked
  expect(messages.getSnapshot().status).toBe('stale')
  page.release()
  expect(texts(await until(messages, ready))).toEqual(['kept', 'reply', 'new'])
})
