import { createSnapshots } from '@parley/client/snapshots'
import { expect, test } from 'vitest'
import { isLive, ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'

const KEY = 'room c'

/** A client with the stored snapshot of a room, which can be read once `released`. */
function storedRoom(released = Promise.resolve()) {
  const rows = new Map<string, object>()
  const storage = {
    load: async () => {
      const stored = [...rows].map(([key, value]) => ({ key, value }))
      await released
      return stored
    },
    put: async (_: string, key: string, value: object) => void rows.set(key, value),
    delete: async (_: string, key: string) => void rows.delete(key),
  }
  const server = scriptedChat({ snapshots: createSnapshots(storage, { intervalMs: 0 }) })
  const messages = [server.channel('c').send('1')]
  rows.set(KEY, { version: 1, epoch: 'first', rev: 1, from: 0, messages })
  return { ...server, rows }
}

test.each([
  ['that is open', true],
  ['that is not open', false],
])('a room %s is removed from the device when the user loses it', async (_, isOpen) => {
  const { chat, emit, rows } = storedRoom()
  await chat.connect()
  if (isOpen) {
    chat.channel('c').watch()
    await until(chat.channel('c').messages, ready)
  }
  await quiet()
  expect([...rows.keys()]).toContain(KEY)
  emit('channel.removed', { channelId: 'c' })
  await quiet()
  expect([...rows.keys()]).not.toContain(KEY)
  const { items } = chat.channel('c').messages.getSnapshot()
  expect(items).toEqual([])
})

test('a room that is lost while what was stored is read is not shown, and removed', async () => {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const { chat, emit, rows } = storedRoom(released)
  void chat.connect()
  await isLive(chat)
  emit('channel.removed', { channelId: 'c' })
  release()
  await quiet()
  expect([...rows.keys()]).not.toContain(KEY)
  expect(chat.channel('c').messages.getSnapshot().items).toEqual([])
})
