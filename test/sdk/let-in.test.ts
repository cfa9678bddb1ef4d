import { expect, test } from 'vitest'
import { isLive, isOffline, ready, texts, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** A room that is opened before its user may read the channel. */

const ID = '00000000-0000-4000-8000-00000000000c'
const TOPIC = `chat:app:${ID}`

/** A room that the server refuses while REST cannot say why. */
async function refusedRoom() {
  const clock = stoppedClock()
  const scripted = scriptedChat()
  const { chat, channel, refuse, refuseRequests } = scripted
  const server = channel(ID)
  server.send('hello')
  await chat.connect()
  refuse(TOPIC)
  refuseRequests(/channels\/|sync$/, { status: 503, code: 'UNAVAILABLE' })
  const room = chat.channel(ID)
  for (const store of [room.messages, room.info]) store.subscribe(() => {})
  while (room.messages.getSnapshot().status !== 'failed') await clock.forward(1_000)
  expect(room.messages.getSnapshot().error?.code).toBe('FORBIDDEN')
  return { ...scripted, clock, room, server }
}

test('a room that was refused while REST failed is shown once its user is let in', async () => {
  const { emit, allow, clock, server, refuseRequests, room } = await refusedRoom()
  allow(TOPIC)
  const { lastMessage: _, ...record } = server.record()
  emit('channel.added', { channel: record })
  await clock.forward(20_000)
  refuseRequests()
  await clock.forward(40_000)
  expect(texts(await until(room.messages, ready))).toEqual(['hello'])
  expect(room.info.getSnapshot()).toMatchObject({ status: 'ready', channel: { id: ID } })
})

test('a room that was refused is shown after an outage in which its user was let in', async () => {
  const { chat, allow, cut, mend, loseEvents, clock, refuseRequests, room } = await refusedRoom()
  cut()
  await isOffline(chat)
  allow(TOPIC)
  loseEvents()
  refuseRequests()
  mend()
  await clock.forward(60_000)
  await isLive(chat)
  expect(texts(await until(room.messages, ready))).toEqual(['hello'])
  expect(room.info.getSnapshot()).toMatchObject({ status: 'ready', channel: { id: ID } })
})

test('a room that was shown and is lost says so at once, without a call', async () => {
  const { chat, channel, emit, refuse, refuseRequests, requests } = scriptedChat()
  channel(ID).send('hello')
  const { messages } = chat.channel(ID)
  messages.subscribe(() => {})
  await chat.connect()
  await until(messages, ready)
  refuseRequests(/channels\//, { status: 404, code: 'NOT_FOUND' })
  requests.length = 0
  refuse(TOPIC)
  emit('channel.removed', { channelId: ID })
  await quiet()
  expect([messages.getSnapshot().error?.code, requests]).toEqual(['FORBIDDEN', []])
})
