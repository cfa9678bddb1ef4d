import { expect, test } from 'vitest'
import { isLive, isOffline, ready, texts, until } from '../support/chat.ts'
import { quiet, type ScriptedChat, scriptedChat } from '../support/scripted/index.ts'
import { openAndLeave } from '../support/scripted/leave.ts'
import { stoppedClock } from '../support/scripted/time.ts'

test('a room that was left keeps its newest page, all but the last 20 keep nothing', async () => {
  const clock = stoppedClock()
  const { chat, channel } = scriptedChat()
  const ids = Array.from({ length: 22 }, (_, index) => `c${index}`)
  for (const id of ids) {
    const { send } = channel(id)
    for (let count = 0; count < 60; count++) send(`${id} ${count}`)
  }
  await chat.connect()
  for (const id of ids) {
    const room = chat.channel(id)
    await openAndLeave(room.messages, clock, async () => {
      await room.messages.loadOlder()
      expect(room.messages.getSnapshot().items).toHaveLength(60)
    })
  }
  await quiet()
  const kept = ids.map((id) => chat.channel(id).messages.getSnapshot().items.length)
  expect(kept).toEqual([0, 0, ...ids.slice(2).map(() => 50)])

  const [first, last] = [chat.channel('c0').messages, chat.channel('c21').messages]
  expect([last.getSnapshot().status, last.getSnapshot().hasOlder]).toEqual(['stale', true])
  for (const store of [first, last]) store.subscribe(() => {})
  await clock.forward(10)
  for (const store of [first, last]) expect((await until(store, ready)).items).toHaveLength(50)
  await last.loadOlder()
  expect(last.getSnapshot().items).toHaveLength(60)
})

test('freeing the oldest room that was left frees its record and topic', async () => {
  const clock = stoppedClock()
  const { chat, ...server } = scriptedChat()
  await chat.connect()
  const own = server.topics()
  await visit({ chat, ...server }, clock, { from: 0, to: 19 })
  expect(server.topics()).toHaveLength(own.length + 20)
  await visit({ chat, ...server }, clock, { from: 20, to: 20 })
  expect(server.topics()).toEqual(own)
})

test('a refusal answered after access was given does not close the room', async () => {
  const { chat, channel, emit, refuse, allow, hold, refuseRequests } = scriptedChat()
  const talk = channel('c')
  refuse('chat:app:c')
  refuseRequests(RECORD, { status: 404, code: 'NOT_FOUND' })
  const refusal = hold(RECORD)
  const room = chat.channel('c')
  room.watch()
  void chat.connect()
  await refusal.asked
  allow('chat:app:c')
  emit('channel.added', { channel: talk.record() })
  talk.send('welcome')
  await until(room.messages, ready)
  refusal.release()
  await quiet()
  expect(room.messages.getSnapshot().status).toBe('ready')
  expect(texts(room.messages.getSnapshot())).toEqual(['welcome'])
})

test('each time access is lost the room says why it was lost this time', async () => {
  const { chat, channel, emit, refuse, allow, refuseRequests } = scriptedChat()
  const talk = channel('c')
  refuse('chat:app:c')
  refuseRequests(RECORD, { status: 404, code: 'NOT_FOUND' })
  const room = chat.channel('c')
  room.watch()
  await chat.connect()
  const failed = ({ status }: { status: string }) => status === 'failed'
  expect((await until(room.messages, failed)).error?.code).toBe('NOT_FOUND')
  allow('chat:app:c')
  emit('channel.added', { channel: talk.record() })
  await until(room.messages, ready)
  refuse('chat:app:c')
  expect((await until(room.messages, failed)).error?.code).toBe('FORBIDDEN')
})

test('a record that is needed again after access was lost and given is loaded', async () => {
  const clock = stoppedClock()
  const { chat, ...server } = scriptedChat()
  await chat.connect()
  await visit({ chat, ...server }, clock, { from: 0, to: 0 })
  const { info } = chat.channel('c0')
  server.emit('channel.removed', { channelId: 'c0' })
  await quiet()
  expect(info.getSnapshot().status).toBe('failed')
  const record = server.data.channels.get('c0')?.record()
  if (record) server.emit('channel.added', { channel: record })
  await visit({ chat, ...server }, clock, { from: 1, to: 20 })
  expect(info.getSnapshot()).toMatchObject({ status: 'idle', channel: undefined })
})

test('a record that could not be loaded is not asked for once access to it is lost', async () => {
  const clock = stoppedClock()
  const { chat, channel, emit, refuseRequests, count } = scriptedChat()
  channel('c')
  await chat.connect()
  const room = chat.channel('c')
  room.watch()
  await clock.forward(10)
  await until(room.messages, ready)
  refuseRequests(RECORD, { status: 503, code: 'UNAVAILABLE' })
  room.info.subscribe(() => {})
  // Not while it is being asked for again.
  const error = () => room.info.getSnapshot().error?.code
  for (let tries = 0; error() === undefined && tries < 300; tries++) await clock.forward(100)
  expect(error()).toBe('UNAVAILABLE')
  emit('channel.removed', { channelId: 'c' })
  await quiet()
  expect(error()).toBe('FORBIDDEN')
  const before = count(RECORD)
  for (let second = 0; second < 60; second++) await clock.forward(1_000)
  expect([count(RECORD), error()]).toEqual([before, 'FORBIDDEN'])
})

test('neither a room shown again nor a record shown alone is given up', async () => {
  const clock = stoppedClock()
  const { chat, ...server } = scriptedChat()
  await chat.connect()
  await visit({ chat, ...server }, clock, { from: 0, to: 1 })
  const [again, alone] = [chat.channel('c0'), chat.channel('c1')]
  const record = server.data.channels.get('c1')?.record()
  server.intercept(RECORD, () => Response.json(record))
  again.watch()
  alone.info.subscribe(() => {})
  server.data.channels.get('c0')?.send('still here')
  await clock.forward(10)
  await until(alone.info, ready)
  await visit({ chat, ...server }, clock, { from: 2, to: 25 })
  expect(again.messages.getSnapshot().items).toMatchObject([{ text: 'still here' }])
  expect(alone.info.getSnapshot().channel?.id).toBe('c1')
})

test('a thread of a room that was left is whole when the room is shown again', async () => {
  const clock = stoppedClock()
  const { chat, channel } = scriptedChat()
  const talk = channel('c')
  const { id } = talk.send('root')
  talk.send('first', { parentId: id })
  await chat.connect()
  const thread = chat.channel('c').thread(id)
  await openAndLeave(thread, clock)
  talk.send('second', { parentId: id })
  thread.subscribe(() => {})
  await clock.forward(10)
  const { items } = await until(thread, ready)
  expect(items.map(({ text }) => text)).toEqual(['first', 'second'])
})

test('a room shown again without a network has what came while it was left', async () => {
  const clock = stoppedClock()
  const { chat, channel, cut, mend } = scriptedChat()
  const talk = channel('c')
  talk.send('1')
  chat.channels().subscribe(() => {}) // which keeps the topic
  await chat.connect()
  const { messages } = chat.channel('c')
  await openAndLeave(messages, clock)
  talk.send('2')
  await clock.forward(10)
  cut()
  await isOffline(chat)
  messages.subscribe(() => {})
  mend()
  chat.wake()
  await clock.forward(10)
  await isLive(chat)
  talk.send('3')
  await clock.forward(10)
  expect(texts(await until(messages, ready))).toEqual(['1', '2', '3'])
})

test('members and pins that changed after a jump and a leave are loaded', async () => {
  const clock = stoppedClock()
  const { chat, channel } = scriptedChat()
  const talk = channel('c')
  for (let count = 0; count < 200; count++) talk.send(`${count}`)
  await chat.connect()
  const { messages, members, pins } = chat.channel('c')
  const watch = () => [messages, members, pins].map((store) => store.subscribe(() => {}))
  const stops = watch()
  await clock.forward(10)
  await until(pins, ready)
  await messages.jumpTo('c-0050')
  for (const stop of stops) stop()
  await clock.forward(2_000)
  talk.join('ben')
  talk.pin('c-0200')
  watch()
  await clock.forward(10)
  const { items } = await until(members, ready)
  expect(items.map(({ userId }) => userId).sort()).toEqual(['ana', 'ben', 'me'])
  expect((await until(pins, ready)).items).toMatchObject([{ id: 'c-0200' }])
})

test('a channel that was deleted elsewhere is shown as lost', async () => {
  const { chat, channel, emit } = scriptedChat()
  channel('c').send('old')
  await chat.connect()
  const { messages } = chat.channel('c')
  messages.subscribe(() => {})
  await until(messages, ready)
  emit('channel.deleted', { channelId: 'c' })
  const { items, error } = await until(messages, ({ status }) => status === 'failed')
  expect([items, error?.code]).toEqual([[], 'FORBIDDEN'])
})

const RECORD = /^GET \/api\/channels\/\w+$/

type Visited = Pick<ScriptedChat, 'chat' | 'channel' | 'intercept'>
/** Shows new channels and their records, one after the other. */
async function visit(
  { chat, channel, intercept }: Visited,
  clock: ReturnType<typeof stoppedClock>,
  { from, to }: { from: number; to: number },
) {
  for (let index = from; index <= to; index++) {
    const talk = channel(`c${index}`)
    intercept(RECORD, () => Response.json(talk.record()))
    const room = chat.channel(talk.id)
    const stops = [room.watch(), room.info.subscribe(() => {})]
    await until(room.info, ready)
    for (const stop of stops) stop()
    await clock.forward(2_000)
  }
}
