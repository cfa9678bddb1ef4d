import type { ChatClient, Presence, Store } from '@parley/client'
import { ChatProvider, useLastActive, usePresence } from '@parley/client/react'
import { createElement } from 'react'
import { createRoot } from 'react-dom/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { chatOf, GROUP, isLive, isOffline, liveChatOf, ready, until } from '../support/chat.ts'
import { useDom } from '../support/dom.ts'
import { insertUsers } from '../support/inserted.ts'
import { patient } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld({ presenceGraceSeconds: 0.3 })
const window = useDom({ acts: false })

/** Two users in a channel; returns the first one. */
async function friends(one: string, other: string) {
  const [a] = await world().users(one, other)
  const { id: channelId } = await a.channels.create({ ...GROUP, memberIds: [other] })
  return { channelId, user: a }
}

test('presence follows users who come and go, and recovers after an outage', async () => {
  await friends('ana', 'ben')
  const { chat, proxy } = await liveChatOf(world(), 'ana')
  const presence = chat.presence('ben')
  const snapshots: Presence[] = []
  presence.subscribe(() => snapshots.push(presence.getSnapshot()))
  expect(presence.getSnapshot()).toEqual({ isOnline: false, lastActiveAt: null })
  const ben = await liveChatOf(world(), 'ben')
  const { lastActiveAt: onlineSince } = await until(
    presence,
    ({ isOnline, lastActiveAt }) => isOnline && lastActiveAt !== null,
  )
  ben.chat.disconnect()
  const { lastActiveAt: offlineSince } = await until(presence, ({ isOnline }) => !isOnline)
  expect(Date.parse(offlineSince ?? '')).toBeGreaterThanOrEqual(Date.parse(onlineSince ?? ''))
  expect(await chat.api.users.get({ userId: 'ben' })).toMatchObject({
    online: false,
    lastActiveAt: offlineSince,
  })

  proxy.cut()
  await isOffline(chat)
  await ben.chat.connect()
  await world().db`update service set value = value || 'x' where key = 'epoch'`
  proxy.mend()
  await isLive(chat)
  await until(presence, ({ isOnline }) => isOnline)
  const before = presence.getSnapshot()
  proxy.reset()
  await isOffline(chat)
  await isLive(chat)
  await chat.api.users.list()
  expect(presence.getSnapshot()).toBe(before)
  const texts = snapshots.map((snapshot) => JSON.stringify(snapshot))
  expect(texts.every((text, index) => text !== texts[index - 1])).toBe(true)
})

function Friend({ userId }: { userId: string }) {
  const [isOnline, { lastActiveAt }] = [usePresence(userId), useLastActive(userId)]
  return `${isOnline ? 'online' : 'offline'} ${lastActiveAt === null ? 'never' : 'active'}`
}
const page = (chat: ChatClient, userId: string) =>
  createElement(ChatProvider, { client: chat }, createElement(Friend, { userId }))

test('usePresence renders users coming and going', async () => {
  await friends('cem', 'dora')
  const { chat } = await chatOf(world(), 'cem')
  const container = window.document.createElement('div')
  const root = createRoot(container as never) // an element of another DOM
  onTestFinished(() => root.unmount())
  root.render(page(chat, 'dora'))
  await isLive(chat)
  expect(container.textContent).toMatch(/^offline/)
  const dora = await liveChatOf(world(), 'dora')
  await vi.waitFor(() => expect(container.textContent).toBe('online active'), patient)
  dora.chat.disconnect()
  await vi.waitFor(() => expect(container.textContent).toBe('offline active'), patient)
})

test('an impossible direct message is refused with the reason and the given id', async () => {
  await world().user('ana')
  const { chat } = await liveChatOf(world(), 'ana')
  await expect(chat.dm('nobody')).rejects.toMatchObject({
    code: 'NOT_FOUND',
    message: 'User not found: "nobody"',
  })
  await expect(chat.dm('ana')).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    message: 'A direct message needs a user other than yourself',
  })
})

test('a new name and image show at once wherever the user appears', async () => {
  const { user: eve } = await friends('eve', 'gus')
  const { chat } = await liveChatOf(world(), 'gus')
  const dm = await chat.dm('eve')
  const channelId = dm.id
  const { id: messageId } = await eve.messages.send({ channelId, text: 'root' })
  await eve.messages.send({ channelId, text: 'reply', parentId: messageId })
  await eve.reactions.add({ channelId, messageId, emoji: '👍' })
  await eve.pins.pin({ channelId, messageId })
  const thread = dm.thread(messageId)
  dm.watch()
  const list = chat.channels()
  await until(
    list,
    (shown) =>
      ready(shown) &&
      shown.items[0]?.id === channelId &&
      shown.items[0].lastMessage?.text === 'reply',
  )
  const stores: Store<{ status: string }>[] = [dm.messages, dm.members, dm.pins, thread]
  for (const store of stores) {
    onTestFinished(store.subscribe(() => {}))
    await until(store, ready)
  }
  const isTyping = () => dm.typing.getSnapshot().items.length === 1
  const type = async () => {
    await eve.typing.set({ channelId })
    await until(dm.typing, isTyping)
  }
  await type()

  const profile = { id: 'eve', name: 'Eve II', image: 'https://example.com/eve.png' }
  await world().backend.users.put({ userId: 'eve', name: profile.name, image: profile.image })
  await until(dm.messages, ({ items }) => items[0]?.user.name === 'Eve II')
  const everywhere = () => [
    ...dm.messages.getSnapshot().items.map(({ user }) => user),
    dm.messages.getSnapshot().items[0]?.reactions[0]?.users[0],
    thread.getSnapshot().parent?.user,
    thread.getSnapshot().items[0]?.user,
    dm.pins.getSnapshot().items[0]?.user,
    dm.members.getSnapshot().items.find(({ userId }) => userId === 'eve')?.user,
    dm.typing.getSnapshot().items[0],
    list.getSnapshot().items[0]?.lastMessage?.user,
  ]
  // On a slow machine the time of typing may be over.
  if (!isTyping()) await type()
  expect(everywhere()).toEqual(everywhere().map(() => profile))
  expect(list.getSnapshot().items[0]).toMatchObject({ name: 'Eve II', image: profile.image })
  await world().backend.users.put({ userId: 'gus', name: 'Gus II' })
  await until(chat.me, (me) => me?.name === 'Gus II')
  expect(list.getSnapshot().items[0]).toMatchObject({ name: 'Eve II' })
})

test('a name changed while offline shows later in messages, members and lists', async () => {
  const { channelId, user: one } = await friends('one', 'two')
  await one.messages.send({ channelId, text: 'hello' })
  const { chat, proxy } = await liveChatOf(world(), 'two')
  const room = chat.channel(channelId)
  room.watch()
  onTestFinished(room.members.subscribe(() => {}))
  await until(
    chat.channels(),
    (shown) => ready(shown) && shown.items[0]?.lastMessage?.text === 'hello',
  )
  await Promise.all([until(room.messages, ready), until(room.members, ready)])
  proxy.cut()
  await isOffline(chat)
  await world().backend.users.put({ userId: 'one', name: 'One II' })
  proxy.mend()
  await isLive(chat)
  await until(room.messages, ({ items }) => items[0]?.user.name === 'One II')
  await until(room.members, ({ items }) => items.some(({ user }) => user.name === 'One II'))
  await until(chat.channels(), ({ items }) => items[0]?.lastMessage?.user.name === 'One II')
})

test('presence is loaded of all users, however long their names and images are', async () => {
  const { db, appId } = world()
  const ids = await insertUsers(world(), 'wordy-', 100)
  await db`
    update users
    set image = ${`https://example.com/${'\u0001'.repeat(2_000)}`}, last_active_at = now()
    where app_id = ${appId}
      and id = any(${ids})`
  await world().user('ana')
  const { chat } = await liveChatOf(world(), 'ana')
  const all = ids.map((id) => chat.presence(id))
  for (const presence of all) onTestFinished(presence.subscribe(() => {}))
  for (const presence of all) await until(presence, ({ lastActiveAt }) => lastActiveAt !== null)
})

test('a new image shows although the name stays', async () => {
  const { user: hal, channelId } = await friends('hal', 'ivy')
  await hal.messages.send({ channelId, text: 'root' })
  const { chat } = await liveChatOf(world(), 'ivy')
  const room = chat.channel(channelId)
  room.watch()
  await until(room.messages, ready)
  const image = 'https://example.com/hal.png'
  await world().backend.users.put({ userId: 'hal', name: 'hal', image })
  await until(room.messages, ({ items }) => items[0]?.user.image === image)
})
