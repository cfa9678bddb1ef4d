import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { GROUP, isLive, isOffline, liveChatOf, ready, texts, until } from '../support/chat.ts'
import { insertWorkspace } from '../support/inserted.ts'
import { useWorld, type World } from '../support/world.ts'

const world = useWorld()
const OUTAGE_MS = 60_000

/** Another server, whose event log no longer has what was missed. */
const forgetful = useWorld()

test('200 channels recover from a minute offline with at most 5 requests', async () => {
  await Promise.all([comesBack(world()), comesBack(forgetful(), { isHistoryLost: true })])
})

async function comesBack(world: World, { isHistoryLost = false } = {}) {
  const [ana] = await world.users('ana', 'ben')
  const workspaceId = await insertWorkspace(world, { ana: 'owner', ben: 'member' })
  const channels = await Promise.all(
    Array.from({ length: 200 }, async (_, n) => {
      const { id: channelId } = await ana.channels.create({
        ...GROUP,
        name: `c${n}`,
        memberIds: ['ben'],
        workspaceId,
      })
      const [one, two] = [
        await ana.messages.send({ channelId, text: 'one' }),
        await ana.messages.send({ channelId, text: 'two' }),
      ]
      return { channelId, one: one.id, two: two.id }
    }),
  )
  const { chat, proxy } = await liveChatOf(world, 'ben')
  const list = chat.channels()
  while ((await until(list, ready)).hasMore) await list.loadMore()
  const rooms = channels.map(({ channelId }) => chat.channel(channelId))
  for (const room of rooms) room.watch()
  await Promise.all(rooms.map((room) => until(room.messages, ready)))

  const sockets = proxy.sockets
  const end = Date.now() + OUTAGE_MS
  proxy.cut()
  await isOffline(chat)
  for (const { channelId, one, two } of channels) {
    await ana.messages.edit({ channelId, messageId: one, text: 'changed' })
    await ana.messages.delete({ channelId, messageId: two })
    const { id: messageId } = await ana.messages.send({ channelId, text: 'missed' })
    await ana.reactions.add({ channelId, messageId, emoji: '👍' })
  }
  if (isHistoryLost) await world.db`delete from events where topic like ${`%:${world.appId}:%`}`
  await delay(end - Date.now())
  expect(chat.connection.getSnapshot().status).not.toBe('live')
  proxy.requests.length = 0
  proxy.mend()
  await until(chat.connection, ({ status }) => status === 'live')
  await Promise.all(
    rooms.map((room) =>
      until(
        room.messages,
        (shown) =>
          ready(shown) &&
          texts(shown).join() === 'changed,missed' &&
          shown.items[1]?.reactions.length === 1,
      ),
    ),
  )
  await until(
    list,
    (shown) =>
      ready(shown) &&
      shown.totalUnread === 400 &&
      shown.items.every(({ unreadCount }) => unreadCount === 2),
  )
  expect(list.getSnapshot().items.map(({ lastMessage }) => lastMessage?.text)).toEqual(
    channels.map(() => 'missed'),
  )
  const calls = proxy.requests.filter((request) => !request.includes('/connection/'))
  expect(calls.length, calls.join()).toBeLessThanOrEqual(5)
  expect(proxy.sockets).toBe(sockets + 1)
}

test('a client that missed too many changes reloads the channel and its members', async () => {
  const [ana] = await world().users('ana', 'cem')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['cem'] })
  const { chat, proxy } = await liveChatOf(world(), 'cem')
  const room = chat.channel(channelId)
  room.watch()
  room.members.subscribe(() => {})
  await Promise.all([until(room.messages, ready), until(room.members, ready)])
  const resynced: string[][] = []
  chat.on('resync', ({ channelIds }) => resynced.push(channelIds))
  proxy.cut()
  await isOffline(chat)
  for (const part of ['a', 'b', 'c', 'd', 'e', 'f']) {
    const users = Array.from({ length: 1_000 }, (_, n) => ({ id: `${part}${n}` }))
    await world().backend.users.sync({ users })
    await ana.members.add({ channelId, userIds: users.map(({ id }) => id) })
  }
  await ana.messages.send({ channelId, text: 'welcome all' })
  proxy.mend()
  await isLive(chat)
  await until(room.messages, (shown) => ready(shown) && texts(shown).join() === 'welcome all')
  await until(room.members, (shown) => ready(shown) && shown.items.length === 6_002)
  expect(resynced).toEqual([[channelId]])
})

test('a channel watched for long keeps at most 1,000 messages and can page back', async () => {
  const [ana] = await world().users('ana', 'dora')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['dora'] })
  const { chat } = await liveChatOf(world(), 'dora')
  const room = chat.channel(channelId)
  room.watch()
  await until(room.messages, ready)
  let most = 0
  room.messages.subscribe(() => {
    most = Math.max(most, room.messages.getSnapshot().items.length)
  })
  const all = Array.from({ length: 2_200 }, (_, n) => `${n}`)
  for (const text of all) await ana.messages.send({ channelId, text })
  await until(room.messages, (shown) => texts(shown).at(-1) === '2199')
  expect(most).toBeLessThanOrEqual(1_000)
  expect(room.messages.getSnapshot()).toMatchObject({ hasOlder: true, hasNewer: false })
  while (room.messages.getSnapshot().hasOlder) await room.messages.loadOlder()
  expect(texts(room.messages.getSnapshot())).toEqual(all)
})
