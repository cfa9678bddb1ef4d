import { memoryStorage, type OutboxStorage } from '@parley/client'
import { expect, test } from 'vitest'
import { texts, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** A user writes messages before their first token has ever come: only their id is known. */

const failing = () => Promise.reject(new Error('the token route is down'))

/** A page whose token route is down, and the same page after a reload once it is up. */
function page(storage: OutboxStorage, token?: typeof failing) {
  const opened = scriptedChat({ storage, userId: 'me', ...(token && { token }) })
  const talk = opened.channel('c')
  opened.chat.connect().catch(() => {})
  return { ...opened, talk, room: opened.chat.channel('c') }
}

test('a message that is written before the first token is shown at once, and kept', async () => {
  const storage = memoryStorage()
  const first = page(storage, failing)
  const sent = first.room.send({ text: 'first' })
  expect(sent.message).toMatchObject({ status: 'pending', userId: 'me' })
  expect(first.room.messages.getSnapshot().items).toMatchObject([
    { text: 'first', status: 'pending', user: { id: 'me' } },
  ])
  first.room.send({ text: 'second' })
  const taken = first.room.send({ text: 'taken back' })
  taken.sent.catch(() => {})
  taken.discard()
  await quiet()
  const [waits] = first.room.messages.getSnapshot().items
  expect(waits?.waiting?.error.code).toBe('TOKEN_PROVIDER_FAILED')
  expect(first.chat.me.getSnapshot()).toBeNull()
  first.chat.disconnect()

  const reloaded = page(storage, failing)
  await until(reloaded.room.messages, ({ items }) => items.length === 2)
  reloaded.room.send({ text: 'third' })
  await quiet()
  expect(reloaded.count(/messages/)).toBe(0)
  reloaded.chat.disconnect()

  const last = page(storage)
  last.room.send({ text: 'fourth' })
  await expect
    .poll(() => last.talk.messages.map(({ text }) => text))
    .toEqual(['first', 'second', 'third', 'fourth'])
  await quiet()
  expect(await storage.load('http://chat app:me')).toEqual([])
  last.chat.disconnect()

  const after = page(storage)
  await until(after.chat.connection, ({ status }) => status === 'live')
  await quiet()
  expect(after.count(/^POST .*messages/)).toBe(0)
})

test('messages that waited for the first token are sent once, after what was stored', async () => {
  const storage = memoryStorage()
  const operation = { channelId: 'c', attachments: [], text: 'stored' }
  const createdAt = new Date(0).toISOString()
  await storage.put('http://chat app:me', { ...operation, clientId: 'stored', createdAt })
  const clock = stoppedClock()
  let isDown = true
  const { scripted } = scriptedChat()
  const { chat, channel, count } = scriptedChat({
    storage,
    userId: 'me',
    token: async () => (isDown ? failing() : scripted.token()),
  })
  const talk = channel('c')
  const room = chat.channel('c')
  chat.connect().catch(() => {})
  const sent = [room.send({ text: '1' }), room.send({ text: '2' })]
  const edited = room.send({ text: 'typo' })
  const discarded = room.send({ text: 'discarded' })
  discarded.sent.catch(() => {})
  await clock.forward(10_000)
  room.edit(edited.clientId, { text: '3' }).catch(() => {})
  discarded.discard()
  isDown = false
  await clock.forward(60_000)
  await Promise.all(sent.map((each) => each.sent))
  await edited.sent
  expect(talk.messages.map(({ text }) => text)).toEqual(['stored', '1', '2', '3'])
  expect(texts(room.messages.getSnapshot())).toEqual(['stored', '1', '2', '3'])
  expect(count(/^POST .*messages/)).toBe(1)
  expect(count(/^PATCH|^PUT/)).toBe(0)
})

test('messages that wait for the first token, which is on its way, are sent once', async () => {
  const { scripted } = scriptedChat()
  let mint = () => {}
  const minted = new Promise<void>((resolve) => {
    mint = resolve
  })
  const { chat, channel, count } = scriptedChat({
    userId: 'me',
    token: async () => {
      await minted
      return scripted.token()
    },
  })
  const talk = channel('c')
  const connected = chat.connect()
  const first = chat.channel('c').send({ text: '1' })
  await quiet()
  const sent = [first, ...['2', '3'].map((text) => chat.channel('c').send({ text }))]
  await quiet()
  mint()
  await connected
  await Promise.all(sent.map((each) => each.sent))
  expect(talk.messages.map(({ text }) => text)).toEqual(['1', '2', '3'])
  expect(count(/^POST .*messages/)).toBe(1)
})

test('a message of one user is not sent as the other one whose token comes', async () => {
  const storage = memoryStorage()
  const clock = stoppedClock()
  const { scripted } = scriptedChat()
  const other = async () => ({
    ...(await scripted.token()),
    user: { id: 'other', name: 'Other', image: null },
  })
  const first = scriptedChat({ storage, userId: 'me', token: other as typeof scripted.token })
  first.channel('c')
  first.chat.connect().catch(() => {})
  first.chat.channel('c').send({ text: 'mine' })
  await clock.forward(60_000)
  expect(first.requests).toEqual([])
  expect(first.chat.channel('c').messages.getSnapshot().items).toMatchObject([
    { text: 'mine', status: 'pending' },
  ])
  first.chat.disconnect()
  const theirs = scriptedChat({
    storage,
    userId: 'other',
    token: other as typeof scripted.token,
  })
  theirs.channel('c')
  await theirs.chat.connect()
  await quiet()
  expect(theirs.count(/^POST .*messages/)).toBe(0)
  expect(theirs.chat.channel('c').messages.getSnapshot().items).toEqual([])
  theirs.chat.disconnect()
  const mine = page(storage)
  await clock.forward(1_000)
  expect(mine.talk.messages.map(({ text }) => text)).toEqual(['mine'])
})

test('a message discarded while the first token names the app is not sent', async () => {
  const storage = memoryStorage()
  let read = () => {}
  const mayRead = new Promise<void>((resolve) => {
    read = resolve
  })
  let isDown = true
  const clock = stoppedClock()
  const { scripted } = scriptedChat()
  const { chat, channel, count } = scriptedChat({
    storage: {
      ...storage,
      load: async (owner) => {
        const loaded = await storage.load(owner)
        if (!isDown && owner.endsWith(' :me')) await mayRead
        return loaded
      },
    },
    userId: 'me',
    token: async () => (isDown ? failing() : scripted.token()),
  })
  channel('c')
  chat.connect().catch(() => {})
  const sent = chat.channel('c').send({ text: 'discarded' })
  sent.sent.catch(() => {})
  await clock.forward(5_000)
  isDown = false
  await clock.forward(60_000)
  expect(chat.me.getSnapshot()?.id).toBe('me')
  sent.discard()
  await quiet()
  read()
  await clock.forward(5_000)
  expect(count(/^POST .*messages/)).toBe(0)
  const kept = ['http://chat :me', 'http://chat app:me'].map((owner) => storage.load(owner))
  expect(await Promise.all(kept)).toEqual([[], []])
})

test('name and picture of an unsent message are there once the token has come', async () => {
  const { scripted } = scriptedChat()
  const image = 'https://example.com/me.png'
  const token = async () => {
    const minted = await scripted.token()
    return { ...minted, user: { ...minted.user, image } }
  }
  const { chat, channel, refuseRequests } = scriptedChat({ userId: 'me', token })
  channel('c')
  refuseRequests(/messages/, { status: 503, code: 'UNAVAILABLE' })
  const room = chat.channel('c')
  room.send({ text: 'waits' })
  const authors = () => room.messages.getSnapshot().items.map(({ user }) => user)
  expect(authors()).toMatchObject([{ name: '' }])
  await chat.connect()
  expect(authors()).toMatchObject([{ name: 'ME', image }])
})

test('a logout removes what was written before the first token', async () => {
  const storage = memoryStorage()
  const first = page(storage, failing)
  first.room.send({ text: 'unsent' }).sent.catch(() => {})
  await quiet()
  first.chat.disconnect()
  const [unsent] = await storage.load('http://chat :me')
  if (!unsent) throw new Error('it is stored')
  // Another page that has not connected, as on the route that logs out.
  const logout = () => scriptedChat({ storage, userId: 'me' }).chat.logout()
  await logout()
  const after = page(storage)
  await until(after.chat.connection, ({ status }) => status === 'live')
  await quiet()
  expect([after.count(/^POST .*messages/), after.talk.messages]).toEqual([0, []])
  after.chat.disconnect()
  // A tab that has no token yet writes it, and the app is known here.
  await storage.put('http://chat :me', unsent)
  await logout()
  expect(await storage.load('http://chat :me')).toEqual([])
})
