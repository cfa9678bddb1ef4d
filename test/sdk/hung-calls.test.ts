import { expect, test } from 'vitest'
import { isLive, isOffline, ready, texts, until } from '../support/chat.ts'
import { quiet, type ScriptedChat, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** Calls that hang while their connection is lost, and are answered on a later one, or never. */

const SYNC = /^POST \/api\/sync$/
const LIST = /^GET \/api\/channels\?/
const ID = '00000000-0000-4000-8000-000000000001'

/** A client that is live, with a channel of one message. */
async function live() {
  const server = scriptedChat()
  const talk = server.channel(ID)
  talk.send('1')
  await server.chat.connect()
  return { ...server, talk, room: server.chat.channel(ID) }
}
async function goOffline({ chat, cut }: ScriptedChat) {
  cut()
  await isOffline(chat)
}
async function reconnect(server: ScriptedChat, meanwhile = () => {}) {
  await goOffline(server)
  meanwhile()
  server.mend()
  server.chat.wake()
  await isLive(server.chat)
}
const named = (name: string) => ({ id: 'ana', name, image: null })

test('messages without replies that only a hung call asked for are shown', async () => {
  const server = await live()
  const roots = server.room.messages({ replies: false })
  server.room.watch()
  await until(server.room.messages, ready)
  const hung = server.hold(SYNC)
  roots.subscribe(() => {})
  await hung.asked
  await reconnect(server)
  expect(texts(await until(roots, ready, 5_000))).toEqual(['1'])
})

test.each(['disconnect', 'logout'] as const)(
  'a jump whose call hangs at a %s fails, and is not made again',
  async (end) => {
    const server = await live()
    const hung = server.hold(SYNC)
    const jumped = server.room.messages.jumpToLatest()
    await hung.asked
    void server.chat[end]()
    await expect(jumped).rejects.toMatchObject({ code: 'ABORTED' })
  },
)

test('a record that only a hung call asked for is shown', async () => {
  const server = await live()
  const hung = server.hold(SYNC)
  server.room.info.subscribe(() => {})
  await hung.asked
  await reconnect(server)
  const { channel } = await until(server.room.info, ready, 5_000)
  expect(channel?.lastMessage?.text).toBe('1')
})

test('a hung call that is answered late brings no older name back', async () => {
  const server = await live()
  const { talk, room } = server
  const { info } = room
  info.subscribe(() => {})
  room.watch()
  await until(info, ready)
  await until(room.messages, ready)
  // Only the server knows which message is the last one, once two are deleted.
  const hung = server.hold(SYNC)
  for (const text of ['2', '3']) talk.send(text)
  for (const id of [`${ID}-0002`, `${ID}-0003`]) talk.delete(id)
  await hung.asked
  await reconnect(server, () => {
    talk.own.name = 'newer'
    talk.find(`${ID}-0001`).user = named('Newer')
  })
  const newest = { name: 'newer', lastMessage: { user: named('Newer') } }
  expect(info.getSnapshot().channel).toMatchObject(newest)
  hung.release()
  await quiet()
  expect(info.getSnapshot().channel).toMatchObject(newest)
})

test('a name received while a record loads does not overwrite a newer, missed one', async () => {
  const server = await live()
  const { talk, room, emit } = server
  const hung = server.hold(SYNC)
  room.info.subscribe(() => {})
  await hung.asked
  emit('user.updated', { user: named('Received') })
  await reconnect(server, () => {
    server.loseEvents()
    talk.find(`${ID}-0001`).user = named('Missed')
  })
  const { channel } = await until(room.info, ready, 5_000)
  expect(channel?.lastMessage?.user.name).toBe('Missed')
})

test('a name received while a gap is filled does not overwrite a newer, missed one', async () => {
  const server = await live()
  const { talk, room, emit, chat } = server
  room.watch()
  await until(room.messages, ready)
  const hung = server.hold(SYNC)
  await goOffline(server)
  talk.send('2')
  server.loseEvents()
  server.mend()
  chat.wake()
  await hung.asked
  emit('user.updated', { user: named('Received') })
  await reconnect(server, () => {
    server.loseEvents()
    for (const message of talk.messages) message.user = named('Missed')
  })
  const { items } = await until(room.messages, ready)
  expect(items.map(({ text, user }) => `${text} ${user.name}`)).toContain('2 Missed')
})

test('a gap whose call hung is filled once, by the call of the next connection', async () => {
  const server = await live()
  const { talk, room, chat } = server
  room.watch()
  await until(room.messages, ready)
  const resynced: string[][] = []
  chat.on('resync', ({ channelIds }) => resynced.push(channelIds))
  const hung = server.hold(SYNC)
  await goOffline(server)
  talk.send('2')
  server.loseEvents()
  server.mend()
  chat.wake()
  await hung.asked
  await reconnect(server, () => talk.edit(`${ID}-0001`, 'edited'))
  hung.release()
  await quiet()
  expect(texts(await until(room.messages, ready))).toEqual(['edited', '2'])
  expect(resynced).toEqual([[ID]])
})

test('a list whose load hung takes no older names from its late answer', async () => {
  const server = await live()
  const { talk, chat } = server
  const list = chat.channels()
  const hung = server.hold(LIST)
  list.subscribe(() => {})
  await hung.asked
  await reconnect(server, () => {
    talk.own.name = 'newer'
    server.loseEvents()
  })
  expect((await until(list, ready)).items[0]?.name).toBe('newer')
  hung.release()
  await quiet()
  expect(list.getSnapshot()).toMatchObject({ status: 'ready', items: [{ name: 'newer' }] })
})

test('a call that hung and fails on a later connection causes no pause there', async () => {
  const clock = stoppedClock()
  const server = scriptedChat()
  const { chat } = server
  server.channel(ID).send('1')
  void chat.connect()
  await clock.forward(10)
  const hung = server.hold(SYNC)
  const room = chat.channel(ID)
  room.info.subscribe(() => {})
  await clock.forward(10)
  await hung.asked
  await goOffline(server)
  server.mend()
  chat.wake()
  await clock.forward(10)
  expect(room.info.getSnapshot().status).toBe('ready')
  hung.release(Response.json({ error: { code: 'FORBIDDEN', message: 'late' } }, { status: 403 }))
  await quiet()
  room.watch()
  await clock.forward(10)
  expect(texts(room.messages.getSnapshot())).toEqual(['1'])
  expect(room.messages.getSnapshot().status).toBe('ready')
})

test('a channel that an answer leaves out is loaded by calls of its own', async () => {
  const { talk, room, intercept, count } = await live()
  const nothing = { channels: {}, more: false, settingsVersion: 0 }
  intercept(SYNC, () => Response.json(nothing))
  room.watch()
  room.members.subscribe(() => {})
  expect(texts(await until(room.messages, ready, 5_000))).toEqual(['1'])
  expect((await until(room.members, ready, 5_000)).items).toHaveLength(talk.members.length)
  expect(count(/\/messages\?/)).toBe(1)
})

test('a channel that an answer leaves out says why it cannot be read', async () => {
  const { chat, hold, intercept } = await live()
  const error = { code: 'NOT_FOUND', message: 'no such channel' }
  const sync = hold(SYNC)
  const room = chat.channel('00000000-0000-4000-8000-000000000002')
  room.info.subscribe(() => {})
  room.watch()
  await sync.asked
  intercept(/^GET /, () => Response.json({ error }, { status: 404 }))
  sync.release(Response.json({ channels: {}, more: false, settingsVersion: 0 }))
  const failed = ({ status }: { status: string }) => status === 'failed'
  expect((await until(room.messages, failed, 5_000)).error?.code).toBe('NOT_FOUND')
  expect((await until(room.info, failed, 5_000)).error?.code).toBe('NOT_FOUND')
})

test('a room that is back while its gap is asked for shows what came meanwhile, too', async () => {
  const server = await live()
  const { chat, talk, room, hold } = server
  const clock = stoppedClock()
  // The list keeps the topic open, whose position goes on.
  const list = chat.channels()
  list.subscribe(() => {})
  await clock.forward(10)
  await until(list, ready)
  const leave = room.watch()
  await clock.forward(10)
  await until(room.messages, ready)
  leave()
  await clock.forward(2_000)
  talk.send('2')
  await quiet()
  const first = hold(SYNC)
  const leaveAgain = room.watch()
  await clock.forward(10)
  await first.asked
  const messages = talk.messages.filter(({ text }) => text === '2')
  const early = { channel: talk.record(), rev: talk.record().rev, messages, more: false }
  leaveAgain()
  await clock.forward(2_000)
  talk.send('3')
  await quiet()
  room.watch()
  await clock.forward(10)
  first.release(Response.json({ channels: { [ID]: early }, more: false }))
  await clock.forward(10)
  expect(texts(await until(room.messages, ready))).toEqual(['1', '2', '3'])
})
