import type { MessagesSnapshot, Store } from '@parley/client'
import { emptyState } from '@parley/client/internal/room/state'
import { addNewest, addSent, visibleMessages } from '@parley/client/internal/room/timeline'
import { expect, test } from 'vitest'
import { isOffline, ready, texts, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'

const SEND = /^POST .*\/messages$/
const SYNC = /POST \/api\/sync/
const PAGE = /GET .*\/messages\?limit=50$/

/** Records the messages that a store shows from now on, each with its status. */
function recorded(store: Store<MessagesSnapshot>) {
  const shown: string[] = []
  store.subscribe(() => {
    const { items } = store.getSnapshot()
    const state = items.map(({ text, status }) => `${text}:${status}`).join(' ')
    if (shown.at(-1) !== state) shown.push(state)
  })
  return shown
}

/** A live client whose room has 300 messages, and shows those around the hundredth. */
async function lookingAtHistory() {
  const scene = scriptedChat()
  const channel = scene.channel('c')
  for (let n = 1; n <= 300; n++) channel.send(`${n}`)
  const room = scene.chat.channel('c')
  room.watch()
  await scene.chat.connect()
  await until(room.messages, ready)
  await room.messages.jumpTo('c-0100')
  return { ...scene, talk: channel, room, old: texts(room.messages.getSnapshot()) }
}

test('a message sent during the first load is shown until and after the page comes', async () => {
  const { chat, channel, hold } = scriptedChat()
  channel('c').send('before')
  await chat.connect()
  const page = hold(SYNC)
  const room = chat.channel('c')
  room.watch()
  const shown = recorded(room.messages)
  await page.asked
  await room.send({ text: 'new' }).sent
  await quiet()
  page.release()
  await until(room.messages, ready)
  expect(shown).toEqual(['', 'new:pending', 'new:sent', 'before:sent new:sent'])
})

test('a message sent in a room that is not watched is shown as sent', async () => {
  const { chat, channel } = scriptedChat()
  channel('c')
  await chat.connect()
  const room = chat.channel('c')
  await room.send({ text: 'new' }).sent
  expect(room.messages.getSnapshot().items).toMatchObject([{ text: 'new', status: 'sent' }])
})

test('a message sent while looking at history stays below it until the newest come', async () => {
  const { talk, room, hold, old } = await lookingAtHistory()
  const answer = hold(SEND)
  const out = room.send({ text: 'new' })
  await answer.asked
  talk.send('theirs')
  await quiet()
  // The event came first: the message is stored, and its answer is on the way.
  expect(room.messages.getSnapshot().items.at(-1)).toMatchObject({ text: 'new', status: 'sent' })
  const pending = room.send({ text: 'next' })
  answer.release()
  await Promise.all([out.sent, pending.sent])
  expect(texts(room.messages.getSnapshot())).toEqual([...old, 'new', 'next'])
  expect(room.messages.getSnapshot().hasNewer).toBe(true)

  await room.messages.jumpToLatest()
  expect(texts(room.messages.getSnapshot()).slice(-3)).toEqual(['new', 'theirs', 'next'])
  await room.messages.jumpTo('c-0100')
  expect(texts(room.messages.getSnapshot())).toEqual(old)
})

test('paging forward to a message that was just sent shows it once, in its place', async () => {
  const { talk, room } = await lookingAtHistory()
  await room.send({ text: 'new' }).sent
  talk.send('theirs')
  await quiet()
  while (room.messages.getSnapshot().hasNewer) await room.messages.loadNewer()
  expect(texts(room.messages.getSnapshot()).slice(-3)).toEqual(['300', 'new', 'theirs'])
})

test('a message deleted while looking at history is not shown below it any more', async () => {
  const { talk, room, old } = await lookingAtHistory()
  const { id } = await room.send({ text: 'new' }).sent
  talk.delete(id)
  await quiet()
  expect(texts(room.messages.getSnapshot())).toEqual(old)
})

test('a reply sent while its thread loads is shown in the thread all the time', async () => {
  const { chat, channel, hold } = scriptedChat()
  channel('c').send('root')
  const room = chat.channel('c')
  room.watch()
  await chat.connect()
  await until(room.messages, ready)
  const page = hold(/GET .*\/c-0001\/replies/)
  const thread = room.thread('c-0001')
  const shown = recorded(thread)
  await page.asked
  await room.send({ text: 'reply', parentId: 'c-0001' }).sent
  await quiet()
  page.release()
  await until(thread, ready)
  expect(shown).toEqual(['reply:pending', 'reply:sent'])
})

test('a message sent while a room reloads is shown although its event is late', async () => {
  const { chat, channel, hold, cut, mend, loseEvents, holdEvents, ...scene } = scriptedChat()
  const talk = channel('c')
  const room = chat.channel('c')
  room.watch()
  await chat.connect()
  await until(room.messages, ready)
  cut()
  await isOffline(chat)
  loseEvents()
  talk.send('missed')
  const changes = { c: { rev: talk.rev, channel: talk.record(), resync: true } }
  scene.intercept(/POST .*\/sync$/, () => Response.json({ channels: changes, more: false }))
  const page = hold(PAGE)
  mend()
  await page.asked
  const release = holdEvents()
  await room.send({ text: 'new' }).sent
  page.release()
  await until(room.messages, ready)
  expect(texts(room.messages.getSnapshot())).toEqual(['missed', 'new'])
  release()
  await quiet()
  expect(texts(room.messages.getSnapshot())).toEqual(['missed', 'new'])
})

test('an unsent message quotes the current text of the other one', async () => {
  const { chat, channel, refuseRequests } = scriptedChat()
  const talk = channel('c')
  talk.send('first')
  const room = chat.channel('c')
  room.watch()
  await chat.connect()
  await until(room.messages, ready)
  refuseRequests(SEND, { status: 503, code: 'UNAVAILABLE' })
  room.send({ text: 'reply', quotedMessageId: 'c-0001' })
  const quoted = () => room.messages.getSnapshot().items.at(-1)?.quotedMessage?.text
  expect(quoted()).toBe('first')
  talk.edit('c-0001', 'edited')
  await until(room.messages, ({ items }) => items[0]?.text === 'edited')
  expect(quoted()).toBe('edited')
})

test('an unsent reply is shown among all messages and in its thread only', async () => {
  const { chat, channel, refuseRequests } = scriptedChat()
  const talk = channel('c')
  for (const text of ['first', 'second']) talk.send(text)
  const room = chat.channel('c')
  room.watch()
  await chat.connect()
  await until(room.messages, ready)
  const threads = ['c-0001', 'c-0002'].map((id) => room.thread(id))
  const stores = [room.messages, ...threads, room.messages({ replies: false })]
  for (const store of stores) {
    store.subscribe(() => {})
    await until<MessagesSnapshot>(store, ready)
  }
  refuseRequests(SEND, { status: 503, code: 'UNAVAILABLE' })
  room.send({ text: 'reply', parentId: 'c-0001' })
  await quiet()
  expect(stores.map((store) => texts(store.getSnapshot()))).toEqual([
    ...[['first', 'second', 'reply'], ['reply'], [], ['first', 'second']],
  ])
})

test('a message that is reported as sent twice is shown once', () => {
  const message = scriptedChat().channel('c').send('new', { by: 'me' })
  const history = addNewest(emptyState, { messages: [], hasMore: false })
  const state = { ...history, mainWindow: { from: 5, to: 9 } }
  const items = visibleMessages(addSent(addSent(state, message), message))
  expect(texts({ items })).toEqual(['new'])
})
