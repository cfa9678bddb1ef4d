import { expect, test } from 'vitest'
import { ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

const SYNC = /POST \/api\/sync/
const lastActiveAt = new Date(0).toISOString()

test('members who come with a room are shown as online without another call', async () => {
  const clock = stoppedClock()
  const { chat, channel, data, requests, tell } = scriptedChat()
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
  tell('presence.offline', { userId: 'ana', lastActiveAt })
  await quiet()
  expect(ana.getSnapshot().isOnline).toBe(false)
  // What came with the room is old by now.
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

test('whoever comes online while a room is loading is not shown as offline by it', async () => {
  const { chat, channel, tell, hold } = scriptedChat()
  channel('c')
  await chat.connect()
  const ana = chat.presence('ana')
  ana.subscribe(() => {})
  const held = hold(SYNC)
  const room = chat.channel('c')
  room.members.subscribe(() => {})
  await held.asked
  tell('presence.online', { userId: 'ana', lastActiveAt })
  await quiet()
  held.release()
  await until(room.members, ready)
  expect(ana.getSnapshot().isOnline).toBe(true)
})

test('who is watched just before a room is opened is asked for in its call', async () => {
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
