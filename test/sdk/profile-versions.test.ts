import { expect, test } from 'vitest'
import { isLive, isOffline, ready, until } from '../support/chat.ts'
import { quiet } from '../support/scripted/index.ts'
import { listed } from '../support/scripted/listed.ts'

/** A list of channels, and a room with messages of Ana and of the user. */
async function shownNames() {
  const scripted = await listed()
  const { chat, list, one, emit } = scripted
  one.send('mine', { by: 'me' })
  const room = chat.channel('one')
  room.messages.subscribe(() => {})
  await until(room.messages, ready)
  const names = () => ({
    list: list.getSnapshot().items.map(({ lastMessage }) => lastMessage?.user.name),
    room: room.messages.getSnapshot().items.map(({ user }) => user.name),
    me: chat.me.getSnapshot()?.name,
  })
  const rename = async (id: string, name: string, version?: number) => {
    emit('user.updated', { user: { id, name, image: null }, version })
    await quiet()
  }
  return { ...scripted, names, rename }
}

test('a profile that arrives after a newer one changes no name', async () => {
  const { names, rename } = await shownNames()
  await rename('ana', 'Ana III', 3)
  await rename('me', 'Myself', 8)
  const newest = names()
  expect(newest).toEqual({
    list: ['Myself', 'Ana III'],
    room: ['Ana III', 'Myself'],
    me: 'Myself',
  })
  await rename('ana', 'Ana II', 2)
  await rename('me', 'I', 7)
  expect(names()).toEqual(newest)
  await rename('ana', 'Ana IV', 4)
  expect(names().room).toEqual(['Ana IV', 'Myself'])
})

test('profiles of a server of an earlier version are taken as they come', async () => {
  const { names, rename } = await shownNames()
  await rename('ana', 'Ana II', 2)
  for (const name of ['Ana III', 'Ana IV']) {
    await rename('ana', name)
    expect(names().room).toEqual([name, 'ME'])
  }
})

test('after a gap lower versions count, as of a database that was moved', async () => {
  const { chat, names, rename, cut, mend, loseEvents } = await shownNames()
  await rename('ana', 'Ana II', 1_000_000)
  cut()
  await isOffline(chat)
  loseEvents()
  mend()
  chat.wake()
  await isLive(chat)
  await rename('ana', 'Ana III', 1)
  expect(names().room[0]).toBe('Ana III')
})

test('a sync answer does not overwrite a name received after it was requested', async () => {
  const { chat, one, names, rename, cut, mend, loseEvents, hold } = await shownNames()
  cut()
  await isOffline(chat)
  loseEvents()
  one.edit('one-0001', 'edited')
  mend()
  const sync = hold(/^POST \/api\/sync$/)
  chat.wake()
  await sync.asked
  await rename('ana', 'Ana II', 1)
  sync.release()
  await isLive(chat)
  const { items } = await until(chat.channel('one').messages, ready)
  expect(items[0]?.text).toBe('edited')
  expect(names().room).toEqual(['Ana II', 'ME'])
})
