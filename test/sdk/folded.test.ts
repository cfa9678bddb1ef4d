import { memoryStorage } from '@parley/client'
import { expect, onTestFinished, test } from 'vitest'
import { ready, until } from '../support/chat.ts'
import { quiet, type ScriptedChat, scriptedChat } from '../support/scripted/index.ts'

/** Operations that meet in the outbox. */

const SEND = /^POST .*\/messages$/
const changes = (requests: string[]) =>
  requests.filter((request) => /messages/.test(request) && !request.startsWith('GET'))

/** Sends a message that the server refuses, and then disconnects. */
async function sendRefused({ chat, channel, refuseRequests }: ScriptedChat, text: string) {
  const talk = channel('c')
  await chat.connect()
  const room = chat.channel('c')
  refuseRequests(SEND, { status: 400, code: 'VALIDATION_ERROR' })
  const out = room.send({ text })
  await expect(out.sent).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
  refuseRequests()
  chat.disconnect()
  return { talk, room, out }
}

test('a message that was edited before it was sent is sent as it was edited', async () => {
  const storage = memoryStorage()
  const { chat, channel } = scriptedChat({ storage })
  const talk = channel('c')
  await chat.connect()
  const room = chat.channel('c')
  chat.disconnect()
  const out = room.send({ text: 'typo' })
  const edited = room.edit(out.clientId, { text: 'fixed' })
  await chat.connect()
  expect(await edited).toMatchObject({ text: 'fixed', editedAt: null })
  await out.sent
  expect(talk.messages.map(({ text }) => text)).toEqual(['fixed'])
  await quiet()
  expect(await storage.load('http://chat app:me')).toEqual([])
})

test('a message that was deleted before it was sent is never sent', async () => {
  const { chat, channel, count } = scriptedChat({ storage: memoryStorage() })
  channel('c')
  await chat.connect()
  const room = chat.channel('c')
  room.watch()
  await until(room.messages, ready)
  chat.disconnect()
  const out = room.send({ text: 'regretted' })
  const deleted = room.delete(out.clientId)
  expect(room.messages.getSnapshot().items).toEqual([])
  await chat.connect()
  await deleted
  await expect(out.sent).rejects.toMatchObject({ code: 'ABORTED' })
  expect(count(SEND)).toBe(0)
})

test('changes made to a message before it is sent are sent with its id', async () => {
  const { chat, channel, hold, requests } = scriptedChat({ storage: memoryStorage() })
  const talk = channel('c')
  await chat.connect()
  const room = chat.channel('c')
  room.watch()
  await until(room.messages, ready)
  const held = hold(SEND)
  const out = room.send({ text: 'typo' })
  await held.asked
  const changed = [
    room.edit(out.clientId, { text: 'fixed' }),
    room.react(out.clientId, '👍'),
    room.unreact(out.clientId, '🎉'),
  ]
  expect(room.messages.getSnapshot().items).toMatchObject([{ text: 'fixed', reactions: [{}] }])
  held.release()
  await Promise.all(changed)
  expect(talk.messages).toMatchObject([{ text: 'fixed', reactions: [{ type: '👍' }] }])
  expect(changes(requests).slice(1)[0]).toBe('PATCH /api/channels/c/messages/c-0001')
  await quiet()
  expect(room.messages.getSnapshot().items).toHaveLength(1)
})

test('only the last of a waiting reaction and its removal is sent', async () => {
  const { chat, channel, requests } = scriptedChat({ storage: memoryStorage() })
  channel('c').send('1')
  await chat.connect()
  const room = chat.channel('c')
  chat.disconnect()
  requests.length = 0
  const all = [room.react('c-0001', '👍'), room.unreact('c-0001', '👍'), room.react('c-0001', '👍')]
  await chat.connect()
  await Promise.all(all)
  expect(changes(requests)).toEqual(['POST /api/channels/c/messages/c-0001/reactions'])
})

test('an edit of a newer build in another tab is sent whole and by itself', async () => {
  const storage = { ...memoryStorage(), sharedAs: 'builds' }
  const { chat, channel, hold, bodies, count } = scriptedChat({ storage })
  const { id: messageId } = channel('c').send('0', { by: 'me' })
  await chat.connect()
  const room = chat.channel('c')
  room.watch()
  await until(room.messages, ready)
  const [sending, editing] = [hold(SEND), hold(/PATCH/)]
  room.send({ text: 'first' })
  await sending.asked
  const newer = { type: 'edit', channelId: 'c', clientId: 'e', messageId, text: '1', mood: 'glad' }
  const tab = new BroadcastChannel('builds http://chat app:me')
  onTestFinished(() => tab.close())
  const createdAt = new Date(0).toISOString()
  tab.postMessage({ kind: 'put', operation: { ...newer, createdAt } })
  await until(room.messages, ({ items }) => items[0]?.text === '1')
  const edited = room.edit(messageId, { text: '2' })
  sending.release()
  await editing.asked
  const request = `PATCH /api/channels/c/messages/${messageId}`
  expect(bodies.get(request)).toEqual({ text: '1', mood: 'glad' })
  editing.release()
  await edited
  expect([count(/PATCH/), bodies.get(request)]).toEqual([2, expect.objectContaining({ text: '2' })])
})

test.each([
  { storage: 'of its own', sharedAs: undefined },
  { storage: 'that tabs share', sharedAs: 'again' },
])('a refused message is sent again as it was edited: storage $storage', async ({ sharedAs }) => {
  const storage = { ...memoryStorage(), sharedAs }
  const scripted = scriptedChat({ storage })
  const { chat, count } = scripted
  const { talk, room, out } = await sendRefused(scripted, 'typo')
  const edited = room.edit(out.clientId, { text: 'fixed' })
  out.retry()
  await chat.connect()
  await Promise.all([edited, out.sent])
  expect(talk.messages.map(({ text }) => text)).toEqual(['fixed'])
  expect(count(/PATCH/)).toBe(0)
})

test('a refused message that was deleted is not sent again', async () => {
  const scripted = scriptedChat({ storage: memoryStorage() })
  const { chat, count } = scripted
  const { room, out } = await sendRefused(scripted, 'regretted')
  const deleted = room.delete(out.clientId)
  out.retry()
  await chat.connect()
  await deleted
  expect(count(SEND)).toBe(1)
})

test('fields that a newer build set on a refused message are sent with its retry', async () => {
  const storage = { ...memoryStorage(), sharedAs: 'refused' }
  const { chat, channel, refuseRequests, bodies } = scriptedChat({ storage })
  channel('c')
  await chat.connect()
  const room = chat.channel('c')
  room.watch()
  await until(room.messages, ready)
  refuseRequests(SEND, { status: 400, code: 'VALIDATION_ERROR' })
  const out = room.send({ text: '0', custom: { kept: 1 } })
  out.sent.catch(() => {})
  await until(room.messages, ({ items }) => items[0]?.status === 'failed')
  const tab = new BroadcastChannel('refused http://chat app:me')
  onTestFinished(() => tab.close())
  const edit = { type: 'edit', channelId: 'c', clientId: 'e', text: '1', mood: 'glad' }
  const createdAt = new Date().toISOString()
  const operation = { ...edit, createdAt, messageId: out.clientId, ifEditedAt: null }
  tab.postMessage({ kind: 'put', operation })
  await until(room.messages, ({ items }) => items[0]?.text === '1')
  refuseRequests()
  out.retry()
  await out.sent
  const { clientId } = out
  expect(bodies.get('POST /api/channels/c/messages')).toEqual({
    ...{ clientId, text: '1', mood: 'glad' },
    ...{ custom: { kept: 1 }, attachments: [] },
  })
})

test('an edit of a message that is refused on its way is refused with it', async () => {
  const { chat, channel, hold } = scriptedChat({ storage: memoryStorage() })
  channel('c')
  await chat.connect()
  const room = chat.channel('c')
  const held = hold(SEND)
  const out = room.send({ text: 'typo' })
  await held.asked
  const edited = room.edit(out.clientId, { text: 'fixed' })
  const error = { code: 'FORBIDDEN', message: 'not here' }
  held.release(Response.json({ error }, { status: 403 }))
  await expect(out.sent).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await expect(edited).rejects.toMatchObject({ code: 'FORBIDDEN' })
})

test('a message that is deleted and refused on its way does not come back', async () => {
  const { chat, channel, hold, count, refuseRequests } = scriptedChat({ storage: memoryStorage() })
  channel('c')
  await chat.connect()
  const room = chat.channel('c')
  room.watch()
  await until(room.messages, ready)
  refuseRequests(SEND, { status: 403, code: 'FORBIDDEN' })
  const held = hold(SEND)
  const out = room.send({ text: 'regretted' })
  await held.asked
  const deleted = [room.delete(out.clientId), room.delete(out.clientId)]
  const refused: string[] = []
  chat.on('outbox.refused', ({ operation }) => refused.push(operation.type ?? 'send'))
  held.release()
  await expect(out.sent).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await Promise.all(deleted)
  await quiet()
  expect(room.messages.getSnapshot().items).toEqual([])
  expect([refused, count(SEND), count(/^DELETE/)]).toEqual([[], 1, 0])
})

test('a reaction to a message that was refused is refused, too', async () => {
  const { chat, channel, refuseRequests, count } = scriptedChat({ storage: memoryStorage() })
  channel('c')
  await chat.connect()
  const room = chat.channel('c')
  refuseRequests(SEND, { status: 400, code: 'VALIDATION_ERROR' })
  const out = room.send({ text: 'refused' })
  await expect(out.sent).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
  const refused: unknown[] = []
  chat.on('outbox.refused', ({ operation, error }) => refused.push([operation.type, error.code]))
  const reacted = room.react(out.clientId, '👍')
  await expect(reacted).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
  expect([refused, count(/reactions/)]).toEqual([[['react', 'VALIDATION_ERROR']], 0])
})
