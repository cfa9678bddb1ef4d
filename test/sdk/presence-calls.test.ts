import { expect, test } from 'vitest'
import { ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

const SYNC = /POST \/api\/sync/
const lastActiveAt = new Date(0).toISOString()

test('members who come with a room are shown as online without another call', async () => {
  const clock = stoppedClock()
  const { chat, channel, data, requests, emit } = scriptedChat()
  channel('c')
  data.online.add('ana')
  await chat.connect()
  const room = chat.channel('c')
  room.members.subscribe(() => {})
  await clock.forward(1)
  await until(room.members, ready)
  const ana = chat.presence('ana')
  const stop = ana.subscribe(() => {})
  await clock.forward(1_000)
  expect(ana.getSnapshot().isOnline).toBe(true)
  expect(requests.filter((request) => request.includes('/users'))).toEqual([])
  emit('presence.offline', { userId: 'ana', lastActiveAt, version: 2 })
  await quiet()
  expect(ana.getSnapshot().isOnline).toBe(false)
  // The presence that came with the room is out of date.
  stop()
  ana.subscribe(() => {})
  await clock.forward(250)
  expect(requests.at(-1)).toBe('GET /api/users?ids=ana')
})

test('members who came before a connection was lost are asked for after it', async () => {
  const clock = stoppedClock()
  const { chat, channel, data, requests } = scriptedChat()
  channel('c')
  data.online.add('ana')
  await chat.connect()
  const room = chat.channel('c')
  const stop = room.members.subscribe(() => {})
  await clock.forward(1)
  await until(room.members, ready)
  stop()
  data.online.delete('ana')
  chat.disconnect()
  await chat.connect()
  const ana = chat.presence('ana')
  ana.subscribe(() => {})
  await clock.forward(250)
  expect(requests.at(-1)).toBe('GET /api/users?ids=ana')
  expect(ana.getSnapshot().isOnline).toBe(false)
})

test('a room load does not overwrite a newer online event', async () => {
  const { chat, channel, emit, hold } = scriptedChat()
  channel('c')
  await chat.connect()
  const ana = chat.presence('ana')
  ana.subscribe(() => {})
  const held = hold(SYNC)
  const room = chat.channel('c')
  room.members.subscribe(() => {})
  await held.asked
  emit('presence.online', { userId: 'ana', lastActiveAt, version: 2 })
  await quiet()
  held.release()
  await until(room.members, ready)
  expect(ana.getSnapshot().isOnline).toBe(true)
})

test('users who are watched just before a room is opened are asked for in its call', async () => {
  const clock = stoppedClock()
  const { chat, channel, requests, bodies } = scriptedChat()
  channel('c')
  await chat.connect()
  requests.length = 0
  chat.presence('cem').subscribe(() => {})
  await clock.forward(200)
  chat.channel('c').members.subscribe(() => {})
  await clock.forward(1)
  expect(requests[0]).toBe('POST /api/sync')
  expect(bodies.get('POST /api/sync')).toMatchObject({ userIds: ['cem'] })
})

/** A client on a network where everything is as slow as the test makes it. */
function slowChat() {
  const clock = stoppedClock()
  const scripted = scriptedChat()
  scripted.channel('c')
  scripted.data.online.add('ana')
  const ana = scripted.chat.presence('ana')
  return { ...scripted, clock, ana, asked: () => scripted.requests.filter(isForUsers) }
}
const isForUsers = (request: string) => request.includes('/users')

test('a client opens with two calls, however long each answer takes', async () => {
  const { chat, hold, holdReplies, clock, ana, requests } = slowChat()
  const accept = holdReplies()
  const [listed, synced] = [hold(/channels\?/), hold(SYNC)]
  void chat.connect()
  await quiet()
  const stores = [chat.channels(), chat.channel('c').members, ana]
  for (const store of stores) store.subscribe(() => {})
  await clock.forward(4_500)
  expect(requests).toEqual([])
  accept()
  await clock.forward(4_500)
  listed.release()
  await clock.forward(4_500)
  synced.release()
  await clock.forward(60_000)
  expect(requests.map((request) => request.split('?')[0]).toSorted()).toEqual([
    'GET /api/channels',
    'POST /api/sync',
  ])
  expect([ana.getSnapshot().isOnline, chat.channel('c').members.getSnapshot().status]).toEqual([
    true,
    'ready',
  ])
})

test('presence comes with a room that is being opened, however long that takes', async () => {
  const { chat, hold, holdReplies, clock, ana, asked, bodies } = slowChat()
  await chat.connect()
  const accept = holdReplies()
  const synced = hold(SYNC)
  ana.subscribe(() => {})
  chat.channel('c').members.subscribe(() => {})
  await clock.forward(4_500)
  accept()
  await clock.forward(1)
  expect(bodies.get('POST /api/sync')).toMatchObject({ userIds: ['ana'] })
  // The answer on its way may include a user who is watched only now, as it includes members.
  const me = chat.presence('me')
  me.subscribe(() => {})
  await clock.forward(4_500)
  synced.release()
  await clock.forward(60_000)
  expect([ana.getSnapshot().isOnline, asked()]).toEqual([true, []])
})

test('presence is asked for after five seconds, although a room has not come', async () => {
  const { chat, hold, clock, ana, asked } = slowChat()
  await chat.connect()
  hold(SYNC)
  chat.channel('c').members.subscribe(() => {})
  await clock.forward(1)
  ana.subscribe(() => {})
  await clock.forward(5_250)
  expect([ana.getSnapshot().isOnline, asked()]).toEqual([true, ['GET /api/users?ids=ana']])
})

test('presence is asked for at once where there is no connection to wait for', async () => {
  const { chat, clock, ana } = slowChat()
  await chat.api.users.get({ userId: 'me' })
  // Its record waits for the next connection.
  chat.channel('019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c81').info.subscribe(() => {})
  ana.subscribe(() => {})
  await clock.forward(250)
  expect(ana.getSnapshot().isOnline).toBe(true)
})

test('presence is not asked for before connect() is called', async () => {
  const { clock, ana, requests, minted } = slowChat()
  ana.subscribe(() => {})
  await clock.forward(10_000)
  expect([requests, minted()]).toEqual([[], 0])
})

test('users asked for before an outage are asked for again after it, answered or not', async () => {
  const { chat, data, hold, cut, mend, clock, ana } = slowChat()
  data.online.delete('ana')
  await chat.connect()
  const early = hold(/ids=ana/)
  ana.subscribe(() => {})
  await clock.forward(250)
  await early.asked
  cut()
  await quiet()
  data.online.add('ana')
  mend()
  chat.wake()
  await quiet()
  early.release()
  await clock.forward(250)
  expect(ana.getSnapshot().isOnline).toBe(true)
})

test('the presence of 300 users takes 3 requests, with any characters in their ids', async () => {
  const clock = stoppedClock()
  const { chat, data, requests } = scriptedChat()
  await chat.connect()
  const ids = Array.from({ length: 300 }, (_, index) => `user%&=${index}`)
  data.online.add('user%&=0').add('user%&=299').add('a,b')
  const presences = [...ids, 'a,b'].map((id) => chat.presence(id))
  for (const presence of presences) presence.subscribe(() => {})
  const before = requests.length
  await clock.forward(250)
  const online = presences.flatMap((each, index) => (each.getSnapshot().isOnline ? [index] : []))
  expect(online).toEqual([0, 299, 300])
  const asked = requests.slice(before).map((request) => request.split('?')[0])
  expect(asked).toEqual([...Array(3).fill('GET /api/users'), 'GET /api/users/a%2Cb'])
})

test('a user waits five seconds for a room, whoever is watched after them', async () => {
  const { chat, hold, clock, ana } = slowChat()
  await chat.connect()
  hold(SYNC)
  chat.channel('c').members.subscribe(() => {})
  await clock.forward(1)
  ana.subscribe(() => {})
  for (let second = 1; second <= 6; second++) {
    await clock.forward(1_000)
    chat.presence(`user${second}`).subscribe(() => {})
  }
  expect(ana.getSnapshot().isOnline).toBe(true)
})

test('a user who does not exist does not hide the presence of others', async () => {
  const { chat, clock, ana, refuseRequests } = slowChat()
  await chat.connect()
  refuseRequests(/no%2Cbody/, { status: 404, code: 'NOT_FOUND' })
  for (const presence of [chat.presence('no,body'), ana]) presence.subscribe(() => {})
  await clock.forward(250)
  expect(ana.getSnapshot().isOnline).toBe(true)
})
