import type { ChatMessage } from '@parley/client'
import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { useListeners } from '../realtime/listeners.ts'
import { chatOf, isLive, isOffline, liveChatOf, ready, texts, until } from '../support/chat.ts'
import { countCalls, createTalk, showing } from '../support/counted-calls.ts'
import { useWorld } from '../support/world.ts'

const { tokens, messages: sends, requests } = limits.rates
/** The calls that a client opens with. */
const opening = ['GET /api/channels', 'POST /api/sync']
const world = useWorld({ rateLimits: { tokens, messages: sends, requests, appRequests: 0 } })
const { listenAs, userTopic } = useListeners(world)

test('a client opens with two calls, and comes back with two, whatever it missed', async () => {
  const { ids, owner, channelId } = await createTalk(world(), 'opens', 3)
  const { channelId: other } = await createTalk(world(), 'opens', 2)
  await owner.messages.send({ channelId, text: 'hello' })
  const { calls, fetch } = countCalls()
  const { chat, proxy } = await chatOf(world(), ids[1] ?? '', { fetch })
  const [list, rooms] = [chat.channels(), [channelId, other].map((id) => chat.channel(id))]
  for (const room of rooms) {
    room.watch()
    for (const store of [room.members, room.reads]) store.subscribe(() => {})
  }
  list.subscribe(() => {})
  await chat.connect()
  await until(list, ready)
  for (const room of rooms)
    await Promise.all([until(room.messages, ready), until(room.members, ready)])
  expect(calls.toSorted()).toEqual(opening)
  expect(rooms.map((room) => texts(room.messages.getSnapshot()))).toEqual([['hello'], []])
  expect(Object.keys(rooms[0]?.reads.getSnapshot().byUser ?? {})).toHaveLength(3)
  expect(list.getSnapshot().totalUnread).toBe(1)

  for (const isLost of [false, true]) {
    proxy.cut()
    await isOffline(chat)
    calls.length = 0
    await owner.messages.send({ channelId, text: `missed ${isLost}` })
    if (isLost) await world().db`update service set value = value || 'x' where key = 'epoch'`
    proxy.mend()
    await isLive(chat)
    await until(list, (shown) => ready(shown) && shown.totalUnread === (isLost ? 3 : 2))
    for (const room of rooms)
      await Promise.all([until(room.messages, ready), until(room.members, ready)])
    expect(texts(rooms[0]?.messages.getSnapshot() ?? { items: [] }).at(-1)).toBe(`missed ${isLost}`)
    expect(calls.toSorted()).toEqual(opening)
  }
})

test('pins, threads and who is online cost no third call, whatever was missed', async () => {
  const { ids, owner, channelId } = await createTalk(world(), 'screens', 3)
  const [pinned, root] = [
    await owner.messages.send({ channelId, text: 'pinned' }),
    await owner.messages.send({ channelId, text: 'root' }),
  ]
  await owner.messages.send({ channelId, text: 'reply', parentId: root.id })
  await owner.pins.pin({ channelId, messageId: pinned.id })
  await liveChatOf(world(), ids[0] ?? '')
  const { calls, fetch } = countCalls()
  const { chat, proxy } = await chatOf(world(), ids[1] ?? '', { fetch })
  const room = chat.channel(channelId)
  const [list, roots, thread] = [
    chat.channels(),
    room.messages({ replies: false }),
    room.thread(root.id),
  ]
  const loaded = [list, roots, thread, room.messages, room.members, room.reads, room.pins]
  const people = ids.map((id) => chat.presence(id))
  for (const store of [...loaded, ...people]) store.subscribe(() => {})
  const allReady = () => Promise.all(loaded.map((store) => until<{ status: string }>(store, ready)))
  const online = (...expected: boolean[]) =>
    Promise.all(
      people.map((each, index) =>
        until(each, ({ isOnline }) => (expected[index] ?? isOnline) === isOnline),
      ),
    )
  const shown = () => ({
    roots: texts(roots.getSnapshot()),
    parent: thread.getSnapshot().parent?.text,
    replies: texts(thread.getSnapshot()),
    pins: texts(room.pins.getSnapshot()),
  })
  await chat.connect()
  await allReady()
  await online(true, true, false)
  const opened = { roots: ['pinned', 'root'], parent: 'root', replies: ['reply'], pins: ['pinned'] }
  expect([calls.toSorted(), shown()]).toEqual([opening, opened])

  proxy.cut()
  await isOffline(chat)
  calls.length = 0
  await liveChatOf(world(), ids[2] ?? '')
  proxy.mend()
  await Promise.all([isLive(chat), allReady()])
  await online(true, true, true)
  expect([calls.toSorted(), shown()]).toEqual([opening, opened])

  const replies = ['reply']
  // Some changes, and more than the server returns one by one.
  for (const more of [0, 2_001]) {
    const [pin, unpin] = more ? [pinned, root] : [root, pinned]
    proxy.cut()
    await isOffline(chat)
    calls.length = 0
    replies.push(`missed ${more}`)
    await owner.messages.send({ channelId, text: `missed ${more}`, parentId: root.id })
    await owner.pins.pin({ channelId, messageId: pin.id })
    await owner.pins.unpin({ channelId, messageId: unpin.id })
    await world().db`update channels set rev = rev + ${more} where id = ${channelId}`
    await world().db`update service set value = value || 'x' where key = 'epoch'`
    proxy.mend()
    await isLive(chat)
    await allReady()
    await until(room.pins, ({ items }) => items[0]?.text === pin.text)
    await until(thread, ({ items }) => items.length === replies.length)
    const expected = { ...opened, replies, pins: [pin.text] }
    expect([calls.toSorted(), shown()]).toEqual([opening, expected])
  }
})

test('a room chosen from the list comes with its members and who is online', async () => {
  const { ids, owner, channelId } = await createTalk(world(), 'chosen', 3)
  const [me = '', , other = ''] = ids
  const received = await listenAs(owner, userTopic(owner))
  const { chat: others } = await liveChatOf(world(), other)
  await (await others.dm(me)).send({ text: 'hello' }).sent
  // An event that comes before the list has been read would cost a call.
  await received.untilType('channel.unread_changed')
  await received.untilType('channel.total_unread_changed')
  const { calls, fetch } = countCalls()
  const { chat } = await chatOf(world(), me, { fetch })
  const [list, room] = [chat.channels(), chat.channel(channelId)]
  list.subscribe(() => {})
  void chat.connect()
  await until(list, ready)
  // An application does this with entries of its list: a direct message, and an open channel.
  const partner = chat.presence(other)
  for (const store of [partner, room.messages, room.members]) store.subscribe(() => {})
  expect(list.getSnapshot().totalUnread).toBe(1)
  const { items } = await until(room.members, ready)
  const members = items.map(({ userId }) => chat.presence(userId))
  for (const store of members) store.subscribe(() => {})
  await until(partner, ({ isOnline }) => isOnline)
  expect(members.map((store) => store.getSnapshot().isOnline)).toEqual([true, false, true])
  expect(calls.toSorted()).toEqual(opening)
})

test('a message costs each of 12 watchers one call, and its author none', async () => {
  const { ids, owner, channelId } = await createTalk(world(), 'quiet', 12)
  await owner.messages.send({ channelId, text: 'first' })
  const all = await Promise.all(ids.map((id) => showing(world(), id, channelId)))
  const hasRead = (seq: number) =>
    Promise.all(
      all.map(({ room }) =>
        until(room.reads, ({ byUser: reads }) =>
          ids.every((id) => (reads[id]?.lastReadSeq ?? 0) >= seq),
        ),
      ),
    )
  await hasRead(1)
  await Promise.all(all.map(({ list }) => until(list, ({ totalUnread }) => totalUnread === 0)))
  for (const { calls } of all) calls.length = 0
  const authors = all.slice(0, 3)
  for (const [index, { room }] of authors.entries()) {
    await room.send({ text: `message ${index}` }).sent
    await hasRead(index + 2)
    await Promise.all(all.map(({ list }) => until(list, ({ totalUnread }) => totalUnread === 0)))
  }
  const read = `POST /api/channels/${channelId}/read`
  const sent = `POST /api/channels/${channelId}/messages`
  for (const { calls, userId } of all) {
    const own = authors.filter((author) => author.userId === userId).length
    const others = calls.filter((call) => call !== read && call !== sent)
    expect([userId, others]).toEqual([userId, []])
    expect(calls.filter((call) => call === sent)).toHaveLength(own)
    expect(calls.filter((call) => call === read).length).toBeLessThanOrEqual(authors.length - own)
  }
})

test('pinning and unpinning cost clients that show the pins no call', async () => {
  const { ids, owner, channelId } = await createTalk(world(), 'pins', 12)
  const sent = await Promise.all(
    ['old', 'new'].map((text) => owner.messages.send({ channelId, text })),
  )
  const all = await Promise.all(ids.slice(1).map((id) => showing(world(), id, channelId)))
  for (const { room } of all) room.pins.subscribe(() => {})
  await Promise.all(all.map(({ room }) => until(room.pins, ready)))
  for (const { calls } of all) calls.length = 0
  const shown = (count: number) =>
    Promise.all(all.map(({ room }) => until(room.pins, ({ items }) => items.length === count)))
  for (const { id: messageId } of sent) await owner.pins.pin({ channelId, messageId })
  const [pins] = await shown(2)
  const { messages } = await owner.pins.list({ channelId })
  expect(pins?.items.map(({ id, pinnedBy, pinnedAt }) => ({ id, pinnedBy, pinnedAt }))).toEqual(
    messages.map(({ id, pinnedBy, pinnedAt }) => ({ id, pinnedBy, pinnedAt })),
  )
  for (const { id: messageId } of sent) await owner.pins.unpin({ channelId, messageId })
  await shown(0)
  const reads = `POST /api/channels/${channelId}/read`
  expect(all.flatMap(({ calls }) => calls.filter((call) => call !== reads))).toEqual([])
})

test('a message that is deleted soon costs no call, and any other at most one', async () => {
  const { ids, owner, channelId } = await createTalk(world(), 'gone', 12)
  const send = async (text: string) => (await owner.messages.send({ channelId, text })).id
  await send('first')
  const second = await send('second')
  const all = await Promise.all(ids.slice(1).map((id) => showing(world(), id, channelId)))
  const hasLast = (text: string) =>
    Promise.all(
      all.map(({ list }) => until(list, ({ items }) => items[0]?.lastMessage?.text === text)),
    )
  for (const { calls } of all) calls.length = 0
  const reads = `POST /api/channels/${channelId}/read`
  const asked = () => all.map(({ calls }) => calls.filter((call) => call !== reads))
  const third = await send('third')
  await hasLast('third')
  await owner.messages.edit({ channelId, messageId: second, text: 'edited' })
  await owner.messages.delete({ channelId, messageId: third })
  await hasLast('edited')
  expect(asked().flat()).toEqual([])
  await owner.messages.delete({ channelId, messageId: second })
  await hasLast('first')
  for (const calls of asked()) expect(calls).toEqual(['POST /api/sync'])
})

test('five people who write a minute of messages at once are within the limits', async () => {
  const { ids, channelId } = await createTalk(world(), 'brisk', 5)
  const all = await Promise.all(ids.map((id) => showing(world(), id, channelId)))
  const each = Array.from({ length: 15 }, (_, index) => `message ${index}`)
  await Promise.all(all.flatMap(({ room }) => each.map((text) => room.send({ text }).sent)))
  const isComplete = ({ items }: { items: readonly ChatMessage[] }) =>
    items.length === 75 && items.every(({ status }) => status === 'sent')
  const [shown] = await Promise.all(all.map(({ room }) => until(room.messages, isComplete)))
  // A person's own last messages need not be marked as read.
  const newestOfOthers = (id: string) =>
    Math.max(...(shown?.items ?? []).map(({ userId, seq }) => (userId === id ? 0 : seq)))
  const hasRead = ({ room }: (typeof all)[number]) =>
    until(room.reads, ({ byUser: reads }) =>
      ids.every((id) => (reads[id]?.lastReadSeq ?? 0) >= newestOfOthers(id)),
    )
  await Promise.all(all.map(hasRead))
  expect(all.flatMap(({ statuses }) => statuses).filter((status) => status === 429)).toEqual([])
  // Each makes at most one call for each message of another, besides those for their own.
  for (const { calls } of all) expect(calls.length).toBeLessThanOrEqual(opening.length + 15 + 60)
  // An app-wide limit of 1,000 a minute would hold as well.
  expect(all.flatMap(({ calls }) => calls).length).toBeLessThan(requests)
})
