import type { ChatMessage } from '@parley/client'
import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { chatOf, isLive, isOffline, liveChatOf, ready, texts, until } from '../support/chat.ts'
import { useWorld } from '../support/world.ts'

const { tokens, messages, requests } = limits.rates
/** How many calls a client opens with. */
const OPENING = 2
const world = useWorld({ rateLimits: { tokens, messages, requests, appRequests: 0 } })

/** The calls of a client, without those that the check itself makes. */
function countCalls() {
  const calls: string[] = []
  const statuses: number[] = []
  const counting = (async (url, options) => {
    calls.push(`${options?.method} ${new URL(String(url)).pathname}`)
    const response = await fetch(url, options)
    statuses.push(response.status)
    return response
  }) as typeof fetch
  return { calls, statuses, fetch: counting }
}

/** A client that shows the list, a room with its members and read positions, and reads all. */
async function showing(userId: string, channelId: string) {
  const { calls, statuses, fetch } = countCalls()
  const { chat, proxy } = await liveChatOf(world(), userId, { fetch })
  const [room, list] = [chat.channel(channelId), chat.channels()]
  room.watch()
  for (const store of [list, room.members, room.reads]) store.subscribe(() => {})
  let seen = 0
  room.messages.subscribe(() => {
    const { length } = room.messages.getSnapshot().items
    if (length === seen) return
    seen = length
    room.markRead().catch(() => {})
  })
  await Promise.all([until(room.messages, ready), until(room.members, ready), until(list, ready)])
  return { userId, chat, proxy, calls, statuses, room, list }
}

/** A channel of so many people. */
async function createTalk(prefix: string, count: number) {
  const ids = Array.from({ length: count }, (_, index) => `${prefix}${index}`)
  const [owner] = await world().users(...ids)
  if (!owner) throw new Error('a channel has an owner')
  const create = { type: 'group', name: 'Talk', memberIds: ids.slice(1) } as const
  const { id: channelId } = await owner.channels.create(create)
  return { ids, owner, channelId }
}

test('a client opens with two calls, and comes back with two, whatever it missed', async () => {
  const { ids, owner, channelId } = await createTalk('opens', 3)
  const { channelId: other } = await createTalk('opens', 2)
  await owner.messages.send({ channelId, text: 'hello' })
  const { calls, fetch } = countCalls()
  const { chat, proxy } = await chatOf(world(), ids[1] ?? '', { fetch })
  const list = chat.channels()
  const rooms = [channelId, other].map((id) => chat.channel(id))
  for (const room of rooms) {
    room.watch()
    for (const store of [room.members, room.reads]) store.subscribe(() => {})
  }
  list.subscribe(() => {})
  await chat.connect()
  await until(list, ready)
  for (const room of rooms)
    await Promise.all([until(room.messages, ready), until(room.members, ready)])
  const opening = ['GET /api/channels', 'POST /api/sync']
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
    await until(
      list,
      ({ status, totalUnread }) => status === 'ready' && totalUnread === (isLost ? 3 : 2),
    )
    for (const room of rooms)
      await Promise.all([until(room.messages, ready), until(room.members, ready)])
    expect(texts(rooms[0]?.messages.getSnapshot() ?? { items: [] }).at(-1)).toBe(`missed ${isLost}`)
    expect(calls.toSorted()).toEqual(opening)
  }
})

test('a message costs each of 12 watchers one call, and its author none', async () => {
  const { ids, owner, channelId } = await createTalk('quiet', 12)
  await owner.messages.send({ channelId, text: 'first' })
  const all = await Promise.all(ids.map((id) => showing(id, channelId)))
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

test('five people who write a minute of messages at once are within the limits', async () => {
  const { ids, channelId } = await createTalk('brisk', 5)
  const all = await Promise.all(ids.map((id) => showing(id, channelId)))
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
  // Beside their own messages at most one for each message of another.
  for (const { calls } of all) expect(calls.length).toBeLessThanOrEqual(OPENING + 15 + 60)
  // An app-wide limit of 1,000 a minute would hold as well.
  expect(all.flatMap(({ calls }) => calls).length).toBeLessThan(requests)
})
