import { expect, test } from 'vitest'
import { isLive, isOffline, ready, texts, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'

const FORBIDDEN = { status: 403, code: 'FORBIDDEN' }

/** A live client with an open room of three messages. */
async function opened() {
  const chat = scriptedChat()
  const talk = chat.channel('c')
  for (const text of ['1', '2', '3']) talk.send(text, { by: 'me' })
  await chat.chat.connect()
  const room = chat.chat.channel('c')
  const stop = room.watch()
  await until(room.messages, ready)
  await quiet()
  const item = (index = 0) => room.messages.getSnapshot().items[index]
  return { ...chat, talk, room, item, stop }
}

test('every change is shown at once, and taken back if it is refused', async () => {
  const { room, item, refuseRequests } = await opened()
  const before = room.messages.getSnapshot()
  refuseRequests(/messages\/c-/, FORBIDDEN)
  const refused = [
    room.edit('c-0001', { text: 'edited' }),
    room.react('c-0001', '👍'),
    room.pin('c-0001'),
    room.delete('c-0002'),
  ]
  expect(item()).toMatchObject({ text: 'edited', pinned: true, reactions: [{ own: true }] })
  expect(texts(room.messages.getSnapshot())).toEqual(['edited', '3'])
  const results = await Promise.allSettled(refused)
  expect(results.map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
  expect(room.messages.getSnapshot().items).toEqual(before.items)
})

test('a reaction that a limit refused and that was taken back is gone', async () => {
  const { room, item, count, refuseRequests } = await opened()
  refuseRequests(/reactions$/, { status: 429, code: 'RATE_LIMITED' })
  const reacted = room.react('c-0001', '👍')
  await expect.poll(() => count(/reactions$/)).toBe(1)
  await quiet()
  const removed = room.unreact('c-0001', '👍')
  refuseRequests()
  await Promise.all([reacted, removed])
  await quiet()
  expect(item()?.reactions).toEqual([])
})

test('an unpinned message leaves the list of pins at once, and is back if refused', async () => {
  const { chat, room, talk, cut, mend, refuseRequests } = await opened()
  for (const id of ['c-0001', 'c-0002']) talk.pin(id)
  const pins = () => room.pins.getSnapshot().items.map(({ id }) => id)
  room.pins.subscribe(() => {})
  await expect.poll(pins).toEqual(['c-0002', 'c-0001'])
  await quiet()
  cut()
  await isOffline(chat)
  const changes = ['c-0001', 'c-0002'].map((id) => room.unpin(id))
  for (const change of changes) change.catch(() => {})
  expect(pins()).toEqual([])
  refuseRequests(/c-0002\/pin$/, FORBIDDEN)
  mend()
  chat.wake()
  await expect(changes[1]).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await changes[0]
  await expect.poll(pins).toEqual(['c-0002'])
})

test('one refused change does not take back another one of the same message', async () => {
  const { room, item, hold, refuseRequests } = await opened()
  const held = hold(/reactions$/)
  const reacted = room.react('c-0001', '👍')
  await held.asked
  refuseRequests(/pin$/, FORBIDDEN)
  const pinned = room.pin('c-0001')
  held.release()
  await reacted
  await expect(pinned).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await quiet()
  expect(item()).toMatchObject({ pinned: false, reactions: [{ type: '👍', own: true, count: 1 }] })
})

test('a refused change does not take back one that is still on its way', async () => {
  const { room, item, hold, holdEvents, refuseRequests } = await opened()
  holdEvents()
  const held = hold(/reactions$/)
  refuseRequests(/pin$/, FORBIDDEN)
  const pinned = room.pin('c-0002')
  const reacted = room.react('c-0001', '👍')
  await expect(pinned).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await held.asked
  expect([item(0)?.reactions.length, item(1)?.pinned]).toEqual([1, false])
  held.release()
  await reacted
})

test('the last action shows while the first is on its way', async () => {
  const { room, item, hold } = await opened()
  const held = hold(/reactions$/)
  const changes = [room.react('c-0001', '👍'), room.unreact('c-0001', '👍')]
  await held.asked
  await quiet()
  expect(item()?.reactions).toEqual([])
  held.release()
  await Promise.all(changes)
  await quiet()
  expect(item()?.reactions).toEqual([])
})

test('changes of a channel are sent one after another, those of others at once', async () => {
  const { chat, channel, room, hold, requests, talk } = await opened()
  channel('d').send('1')
  const held = hold(/reactions$/)
  requests.length = 0
  const all = [
    room.react('c-0001', '👍'),
    room.unreact('c-0001', '👍'),
    room.react('c-0001', '🎉'),
    room.pin('c-0002'),
    chat.channel('d').pin('d-0001'),
  ]
  await held.asked
  await quiet()
  expect(requests).toHaveLength(2)
  held.release()
  await Promise.all(all)
  expect(talk.find('c-0001').reactions.map(({ type }) => type)).toEqual(['🎉'])
  expect(talk.find('c-0002').pinned).toBe(true)
})

test('a change stays until its event arrives, and is not shown twice', async () => {
  const { room, item, holdEvents } = await opened()
  const release = holdEvents()
  await room.react('c-0001', '👍')
  await room.pin('c-0001')
  await room.delete('c-0002')
  await quiet()
  const shown = () => [item()?.reactions[0]?.count, item()?.pinned, item(1)?.text]
  expect(shown()).toEqual([1, true, '3'])
  const snapshots: unknown[] = []
  room.messages.subscribe(() => snapshots.push(shown()))
  release()
  await quiet()
  expect(snapshots.filter((each) => JSON.stringify(each) !== '[1,true,"3"]')).toEqual([])
  expect(shown()).toEqual([1, true, '3'])
})

test('the answer of an edit counts although its event comes later, or never', async () => {
  const { room, item, holdEvents, talk } = await opened()
  holdEvents()
  expect(await room.edit('c-0001', { text: 'edited' })).toMatchObject({ text: 'edited' })
  expect(item()?.text).toBe('edited')
  const { rev } = talk.find('c-0001')
  expect(item()?.rev).toBe(rev)
})

test('an edit that is answered after a newer one of another device does not undo it', async () => {
  const { room, item, hold, talk } = await opened()
  const held = hold(/^PATCH/)
  const edited = room.edit('c-0001', { text: 'here' })
  await held.asked
  talk.edit('c-0001', 'there')
  await quiet()
  held.release()
  await edited
  await quiet()
  expect(item()?.text).toBe('there')
})

test('a reaction whose event falls into a gap does not stay after it was removed', async () => {
  const { chat, room, item, hold, talk, cut, mend, loseEvents, holdEvents } = await opened()
  holdEvents()
  const held = hold(/reactions$/)
  const reacted = room.react('c-0001', '👍')
  await held.asked
  cut()
  await isOffline(chat)
  talk.unreact('c-0001', '👍', 'me')
  loseEvents()
  mend()
  await isLive(chat)
  held.release()
  await reacted
  await quiet()
  expect(item()?.reactions).toEqual([])
})

test('a change whose event fell into a gap goes when the gap is filled', async () => {
  const { chat, room, item, holdEvents, talk, cut, mend, loseEvents } = await opened()
  holdEvents()
  await room.pin('c-0001')
  expect(item()?.pinned).toBe(true)
  cut()
  await isOffline(chat)
  talk.unpin('c-0001')
  loseEvents()
  mend()
  await isLive(chat)
  await until(room.messages, ready)
  expect(item()?.pinned).toBe(false)
})

test('a change made in an unwatched room goes with its answer', async () => {
  const { chat, channel, emit } = scriptedChat()
  const talk = channel('c')
  talk.send('1')
  await chat.connect()
  const room = chat.channel('c')
  await room.messages.jumpTo('c-0001')
  const reacted = room.react('c-0001', '👍')
  expect(room.messages.getSnapshot().items[0]?.reactions).toHaveLength(1)
  await reacted
  emit('channel.total_unread_changed', { count: 0 })
  expect(room.messages.getSnapshot().items[0]?.reactions).toHaveLength(0)
})

test('own and foreign reactions of one type are counted together and distinguished', async () => {
  const { room, item, talk } = await opened()
  talk.react('c-0001', '👍', 'ana')
  await quiet()
  expect(item()?.reactions).toMatchObject([{ count: 1, own: false }])
  const reacted = room.react('c-0001', '👍')
  expect(item()?.reactions).toMatchObject([{ count: 2, own: true }])
  await reacted
  talk.unreact('c-0001', '👍', 'ana')
  await quiet()
  expect(item()?.reactions).toMatchObject([{ count: 1, own: true, users: [{ id: 'me' }] }])
  const removed = room.unreact('c-0001', '👍')
  expect(item()?.reactions).toEqual([])
  await removed
  await quiet()
  expect(item()?.reactions).toEqual([])
})

test('an event that was delivered twice or too late changes nothing', async () => {
  const { room, item, talk, publish } = await opened()
  const old = structuredClone(talk.find('c-0001'))
  talk.edit('c-0001', 'edited')
  talk.delete('c-0002')
  await quiet()
  const before = room.messages.getSnapshot()
  const envelope = { type: 'message.updated', payload: { channelId: 'c', message: old } }
  publish('chat:app:c', envelope, old.rev)
  publish('chat:app:c', { ...envelope, type: 'message.new' }, old.rev)
  await quiet()
  expect(item()?.text).toBe('edited')
  expect(room.messages.getSnapshot().items).toEqual(before.items)
})
