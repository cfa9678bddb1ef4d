import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { chatOf, isLive, isOffline, ready, texts, until } from '../support/chat.ts'
import { countCalls } from '../support/counted-calls.ts'
import { quiet } from '../support/scripted/index.ts'
import { useWorld } from '../support/world.ts'

const { tokens, messages: sends, requests } = limits.rates
const world = useWorld({ rateLimits: { tokens, messages: sends, requests, appRequests: 0 } })
/** The calls of a client that opens or comes back. */
const budget = ['GET /api/channels', 'POST /api/sync']

/** A public channel with a thread and a pin, and a client that reads it and is no member. */
async function createReader(userId: string) {
  const [owner] = await world().users(`${userId}-owner`, userId)
  if (!owner) throw new Error('a channel has an owner')
  const { id: channelId } = await owner.channels.create({ type: 'public', name: 'News' })
  const root = await owner.messages.send({ channelId, text: 'root' })
  await owner.messages.send({ channelId, text: 'reply', parentId: root.id })
  await owner.pins.pin({ channelId, messageId: root.id })
  const { calls, fetch } = countCalls()
  const { chat, proxy } = await chatOf(world(), userId, { fetch })
  return { owner, channelId, root, calls, chat, proxy, room: chat.channel(channelId) }
}

test('a reader who is no member opens a channel, or comes back, with two calls', async () => {
  const { owner, channelId, root, calls, chat, proxy, room } = await createReader('guest')
  const [list, roots] = [chat.channels(), room.messages({ replies: false })]
  const [thread, author] = [room.thread(root.id), chat.presence('guest-owner')]
  const loaded = [
    list,
    roots,
    thread,
    room.info,
    room.messages,
    room.members,
    room.reads,
    room.pins,
  ]
  for (const store of [...loaded, author]) store.subscribe(() => {})
  const allReady = () => Promise.all(loaded.map((store) => until<{ status: string }>(store, ready)))
  const shown = () => ({
    listed: list.getSnapshot().items,
    name: room.info.getSnapshot().channel?.name,
    messages: texts(room.messages.getSnapshot()),
    roots: texts(roots.getSnapshot()),
    thread: texts(thread.getSnapshot()),
    pins: texts(room.pins.getSnapshot()),
    members: room.members.getSnapshot().items.map(({ userId }) => userId),
  })
  await chat.connect()
  await allReady()
  const opened = {
    ...{ listed: [], name: 'News', messages: ['root', 'reply'], roots: ['root'] },
    ...{ thread: ['reply'], pins: ['root'], members: ['guest-owner'] },
  }
  expect([calls.toSorted(), shown()]).toEqual([budget, opened])

  proxy.cut()
  await isOffline(chat)
  calls.length = 0
  await owner.messages.send({ channelId, text: 'missed', parentId: root.id })
  await world().db`update service set value = value || 'x' where key = 'epoch'`
  proxy.mend()
  await isLive(chat)
  await until(thread, ({ items }) => items.length === 2)
  await allReady()
  const messages = ['root', 'reply', 'missed']
  const missed = { ...opened, messages, thread: ['reply', 'missed'] }
  expect([calls.toSorted(), shown()]).toEqual([budget, missed])
})

test('a reader who is no member sees the name of the channel all the time', async () => {
  const { chat, proxy, room } = await createReader('visitor')
  const nameNow = () => room.info.getSnapshot().channel?.name
  room.watch()
  await chat.connect()
  await until(room.info, ready)
  const names = new Set([nameNow()])
  room.info.subscribe(() => names.add(nameNow()))
  proxy.cut()
  await isOffline(chat)
  proxy.mend()
  await isLive(chat)
  await until(room.info, ready)
  expect([...names]).toEqual(['News'])
})

test('a reader who is no member marks nothing as read, also without a connection', async () => {
  const { chat, calls, proxy, room } = await createReader('onlooker')
  for (const store of [room.info, room.messages]) store.subscribe(() => {})
  await chat.connect()
  await until(room.info, ready)
  proxy.cut()
  await isOffline(chat)
  const outcome = await Promise.race([room.markRead(), quiet().then(() => 'waits')])
  expect(outcome).toBeUndefined()
  proxy.mend()
  await isLive(chat)
  expect(calls.filter((call) => call.endsWith('/read'))).toEqual([])
})

test('a user who has left a public channel can still open its record', async () => {
  const { owner, channelId, calls, chat, room } = await createReader('leaver')
  await owner.members.add({ channelId, userIds: ['leaver'] })
  await chat.connect()
  const stores = [room.info, room.messages]
  const unsubscribes = stores.map((store) => store.subscribe(() => {}))
  await Promise.all([until(room.info, ready), until(room.messages, ready)])
  await chat.api.members.leave({ channelId })
  await until(room.info, ({ status }) => status === 'failed')
  for (const unsubscribe of unsubscribes) unsubscribe()
  for (const store of stores) store.subscribe(() => {})
  await until(room.messages, ready, 10_000)
  const { channel } = await until(room.info, ready, 10_000)
  expect(channel).toMatchObject({ name: 'News', role: null })
  await room.markRead()
  expect(calls.filter((call) => call.endsWith('/read'))).toEqual([])
})

test('a guest who marks messages as read is refused at most once', async () => {
  const { owner, channelId, calls, chat, room } = await createReader('reading-guest')
  let refused = 0
  chat.on('outbox.refused', () => {
    refused += 1
  })
  const marked: Promise<void>[] = []
  room.messages.subscribe(() => {
    if (room.messages.getSnapshot().status === 'ready') marked.push(room.markRead().catch(() => {}))
  })
  await chat.connect()
  await until(room.messages, ready)
  for (const text of ['1', '2', '3', '4', '5']) {
    await owner.messages.send({ channelId, text })
    await until(room.messages, (snapshot) => texts(snapshot).at(-1) === text)
    await Promise.all(marked)
  }
  expect(marked.length).toBeGreaterThan(5)
  expect(calls.filter((call) => call.endsWith('/read')).length).toBeLessThanOrEqual(1)
  expect(refused).toBeLessThanOrEqual(1)

  const added = new Promise((resolve) => chat.on('channel.added', resolve))
  await owner.members.add({ channelId, userIds: ['reading-guest'] })
  await added
  const { seq } = await owner.messages.send({ channelId, text: 'welcome' })
  await until(room.messages, (snapshot) => texts(snapshot).at(-1) === 'welcome')
  await Promise.all(marked)
  const { members } = await owner.receipts.status({ channelId })
  const own = members.find(({ userId }) => userId === 'reading-guest')
  expect(own?.lastReadSeq).toBe(seq)
})

test('a guest who was refused, and joined in an outage, marks messages as read', async () => {
  const { owner, channelId, root, calls, chat, proxy, room } = await createReader('late-member')
  room.messages.subscribe(() => {})
  await chat.connect()
  await until(room.messages, ready)
  await expect(room.markRead()).rejects.toMatchObject({ code: 'FORBIDDEN' })
  proxy.cut()
  await isOffline(chat)
  await owner.members.add({ channelId, userIds: ['late-member'] })
  await world().db`update service set value = value || 'x' where key = 'epoch'`
  await owner.messages.send({ channelId, text: 'welcome', parentId: root.id })
  proxy.mend()
  await isLive(chat)
  await until(room.messages, ({ items }) => items.at(-1)?.text === 'welcome')
  calls.length = 0
  await room.markRead()
  expect(calls.filter((call) => call.endsWith('/read'))).toHaveLength(1)
})
