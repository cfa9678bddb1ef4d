import { expect, test } from 'vitest'
import { isOffline, ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'

const lastActiveAt = new Date(0).toISOString()

test('presence from an event is not overwritten by an older answer', async () => {
  const { chat, emit, hold } = scriptedChat()
  await chat.connect()
  const held = hold(/users\?ids=ana$/)
  const presence = chat.presence('ana')
  presence.subscribe(() => {})
  await held.asked
  emit('presence.online', { userId: 'ana', lastActiveAt, version: 2 })
  await quiet()
  held.release()
  await quiet()
  expect(presence.getSnapshot().isOnline).toBe(true)
  emit('presence.offline', { userId: 'ana', lastActiveAt, version: 3 })
  await quiet()
  expect(presence.getSnapshot().isOnline).toBe(false)
})

test('presence from an answer or event is not overwritten by an older event', async () => {
  const { chat, data, emit } = scriptedChat()
  data.online.add('ana')
  await chat.connect()
  const presence = chat.presence('ana')
  await until(presence, ({ isOnline }) => isOnline)
  emit('presence.offline', { userId: 'ana', lastActiveAt, version: 0 })
  await quiet()
  expect(presence.getSnapshot().isOnline).toBe(true)
  emit('presence.offline', { userId: 'ana', lastActiveAt, version: 3 })
  emit('presence.online', { userId: 'ana', lastActiveAt, version: 2 })
  await quiet()
  expect(presence.getSnapshot().isOnline).toBe(false)
  // A server of an earlier version gives none: its events count as they come.
  emit('presence.online', { userId: 'ana', lastActiveAt })
  await quiet()
  expect(presence.getSnapshot().isOnline).toBe(true)
})

test('presence with a lower version counts once a backup may have been restored', async () => {
  const { chat, cut, mend, loseEvents, emit } = scriptedChat()
  await chat.connect()
  const presence = chat.presence('ana')
  presence.subscribe(() => {})
  emit('presence.online', { userId: 'ana', lastActiveAt, version: 9 })
  await until(presence, ({ isOnline }) => isOnline)
  cut()
  await isOffline(chat)
  loseEvents()
  mend()
  chat.wake()
  await until(presence, ({ isOnline }) => !isOnline)
})

test('a user who came online before being watched is not offline by an older answer', async () => {
  const { chat, channel, emit, hold } = scriptedChat()
  channel('c')
  await chat.connect()
  const held = hold(/POST \/api\/sync/)
  const room = chat.channel('c')
  room.members.subscribe(() => {})
  await held.asked
  emit('presence.online', { userId: 'ana', lastActiveAt, version: 2 })
  await quiet()
  const ana = chat.presence('ana')
  ana.subscribe(() => {})
  held.release()
  await until(room.members, ready)
  await quiet()
  expect(ana.getSnapshot().isOnline).toBe(true)
})
