import { indexedDbStorage, type OutboxStorage, type Outgoing } from '@parley/client'
import { IDBFactory } from 'fake-indexeddb'
import { expect, onTestFinished, test } from 'vitest'
import { GROUP, isLive, isOffline, liveChatOf, until } from '../support/chat.ts'
import { scriptedChat } from '../support/scripted/index.ts'
import { useGlobals } from '../support/use-globals.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()

/** The order of what waits, over pages whose clocks differ. */

useGlobals({ indexedDB: new IDBFactory() })

const OWNER = 'http://chat app:me'
const HOUR_MS = 3_600_000
/** An operation that a page has stored, an hour ahead of the current clock. */
const fromAhead = (more: Partial<Outgoing> = {}): Outgoing => ({
  ...{ type: 'send', clientId: 'early', channelId: 'c', text: 'first', attachments: [] },
  createdAt: new Date(Date.now() + HOUR_MS).toISOString(),
  ...more,
})

/** A page without a network, and a check that another one sends in the same order. */
async function openOffline(storage: OutboxStorage) {
  const open = () => scriptedChat({ storage, userId: 'me' })
  const { chat, cut } = open()
  await chat.connect()
  cut()
  await isOffline(chat)
  const stored = async () =>
    (await storage.load(OWNER))
      .sort((a, b) => a.createdAt.localeCompare(b.createdAt))
      .map((each) => 'text' in each && each.text)
  const expectOrder = async () => {
    await expect.poll(stored).toEqual(['first', 'first, edited', 'second'])
    chat.disconnect()
    const after = open()
    const talk = after.channel('c')
    await after.chat.connect()
    await isLive(after.chat)
    await expect.poll(stored).toEqual([])
    expect(talk.messages.map(({ text }) => text)).toEqual(['first, edited', 'second'])
  }
  return { room: chat.channel('c'), expectOrder }
}

test('operations before the clock was set back are sent first, after reloads, too', async () => {
  const storage = indexedDbStorage('set-back')
  await storage.put(OWNER, fromAhead())
  const { room, expectOrder } = await openOffline(storage)
  await until(room.messages, ({ items }) => items.length === 1)
  room.edit('early', { text: 'first, edited' }).catch(() => {})
  room.send({ text: 'second' })
  await expectOrder()
})

test('operations of a tab ahead of the clock are sent first, after reloads, too', async () => {
  const storage = indexedDbStorage('ahead')
  const { room, expectOrder } = await openOffline(storage)
  const createdAt = new Date(Date.now() + 2 * HOUR_MS).toISOString()
  const operation = fromAhead({ clientId: 'theirs', createdAt })
  await storage.put(OWNER, operation)
  const others = new BroadcastChannel(`${storage.sharedAs} ${OWNER}`)
  onTestFinished(() => others.close())
  others.postMessage({ kind: 'put', operation })
  await until(room.messages, ({ items }) => items.length === 1)
  room.edit('theirs', { text: 'first, edited' }).catch(() => {})
  room.send({ text: 'second' })
  await expectOrder()
})

test('an invalid stored time does not keep the next message from being sent', async () => {
  const storage = indexedDbStorage('no-time')
  await storage.put(OWNER, fromAhead({ createdAt: 'yesterday' }))
  const { chat, channel } = scriptedChat({ storage })
  const talk = channel('c')
  await chat.connect()
  await expect.poll(() => talk.messages.length).toBe(1)
  await chat.channel('c').send({ text: 'second' }).sent
  expect(talk.messages.map(({ text }) => text)).toEqual(['first', 'second'])
})

test('replies to and quotes of a message that were made before it was sent follow it', async () => {
  const [ana] = await world().users('ana', 'follower')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['follower'] })
  const { chat, proxy } = await liveChatOf(world(), 'follower')
  const room = chat.channel(channelId)
  room.watch()
  proxy.cut()
  await isOffline(chat)
  const root = room.send({ text: 'root' })
  // Not under way, so that all of them may go in one call.
  await until(room.messages, ({ items }) => items[0]?.waiting !== undefined)
  const made = [
    room.send({ text: 'reply', parentId: root.clientId }),
    room.send({ text: 'quote', quotedMessageId: root.message.id }),
    room.send({ text: 'both', parentId: root.clientId, quotedMessageId: root.clientId }),
  ]
  proxy.mend()
  const { id } = await root.sent
  const [reply, quote, both] = await Promise.all(made.map(({ sent }) => sent))
  expect(reply).toMatchObject({ text: 'reply', parentId: id })
  expect(quote).toMatchObject({ parentId: null, quotedMessage: { id, text: 'root' } })
  expect(both).toMatchObject({ parentId: id, quotedMessage: { id } })
  const { messages } = await ana.messages.list({ channelId })
  expect(messages.map(({ text }) => text)).toEqual(['root', 'reply', 'quote', 'both'])
})

test('a reply to a message that was refused is sent once that one is sent again', async () => {
  const [ana] = await world().users('ana', 'stubborn')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['stubborn'] })
  const { chat } = await liveChatOf(world(), 'stubborn')
  const room = chat.channel(channelId)
  await ana.members.remove({ channelId, userId: 'stubborn' })
  const root = room.send({ text: 'root' })
  const reply = room.send({ text: 'reply', parentId: root.clientId })
  await expect(root.sent).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await expect(reply.sent).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await ana.members.add({ channelId, userIds: ['stubborn'] })
  root.retry()
  const { id } = await root.sent
  reply.retry()
  expect(await reply.sent).toMatchObject({ parentId: id })
})

test('a message that was sent may still be named by its clientId', async () => {
  const [ana, elsewhere] = await world().users('ana', 'noter')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['noter'] })
  const { chat } = await liveChatOf(world(), 'noter')
  const room = chat.channel(channelId)
  const root = room.send({ text: 'root' })
  const noted = root.message.id
  const { id } = await root.sent
  expect(noted).not.toBe(id)
  const reply = await room.send({ text: 'reply', parentId: noted }).sent
  const quote = await room.send({ text: 'quote', quotedMessageId: noted }).sent
  expect(reply.parentId).toBe(id)
  expect(quote.quotedMessage?.id).toBe(id)
  await room.react(noted, '👍')
  await room.edit(noted, { text: 'changed' })
  await elsewhere.messages.edit({ channelId, messageId: id, text: 'and elsewhere' })
  const blind = room.edit(noted, { text: 'and again' })
  await expect(blind).rejects.toMatchObject({ code: 'CONFLICT' })
  const { text, reactions } = await ana.messages.get({ channelId, messageId: id })
  expect([text, reactions.map(({ type }) => type)]).toEqual(['and elsewhere', ['👍']])
  await room.delete(noted)
  const { messages } = await ana.messages.list({ channelId })
  expect(messages.map(({ text }) => text)).toEqual(['reply', 'quote'])
})
