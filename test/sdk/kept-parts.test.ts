import type { Room, Store } from '@parley/client'
import { expect, test } from 'vitest'
import { GROUP, isLive, isOffline, liveChatOf, ready, until } from '../support/chat.ts'
import { scriptedChat } from '../support/scripted/index.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()

/** The statuses that a store shows from now on. */
const statusesOf = (store: Store<{ status: string }>) => {
  const seen: string[] = []
  store.subscribe(() => seen.push(store.getSnapshot().status))
  return seen
}
/** What a room loads besides its messages. */
const partsOf = (room: Room) => [room.members, room.reads, room.pins, room.thread('c-0001')]

test('members, reads, pins and threads once loaded never show loading after a gap', async () => {
  const { chat, channel, cut, mend, loseEvents } = scriptedChat()
  const talk = channel('c')
  talk.send('pinned')
  talk.pin('c-0001')
  talk.send('reply', { parentId: 'c-0001' })
  await chat.connect()
  const parts = partsOf(chat.channel('c'))
  await Promise.all(parts.map((part) => until(part, ready)))
  const seen = parts.map(statusesOf)
  cut()
  await isOffline(chat)
  talk.send('missed')
  loseEvents()
  mend()
  chat.wake()
  await Promise.all(parts.map((part) => until(part, ready)))
  for (const statuses of seen) expect(new Set(statuses)).toEqual(new Set(['stale', 'ready']))
})

test('messages without replies are not loading while those that are there are shown', async () => {
  const { chat, channel } = scriptedChat()
  channel('c').send('there')
  await chat.connect()
  const { messages } = chat.channel('c')
  const stop = messages.subscribe(() => {})
  await until(messages, ready)
  const roots = messages({ replies: false })
  const unsubscribe = roots.subscribe(() => {})
  expect(roots.getSnapshot()).toMatchObject({ status: 'stale', items: [{ text: 'there' }] })
  await until(roots, ready)
  expect(roots.getSnapshot().items).toHaveLength(1)
  unsubscribe()
  stop()
})

test('members and reads stay as they were, not loading, until a reconnect is over', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  const { chat, proxy } = await liveChatOf(world(), 'ben')
  const { members, reads } = chat.channel(id)
  await Promise.all([until(members, ready), until(reads, ready)])
  const shown = () => ({
    members: members.getSnapshot().items.map(({ userId }) => userId),
    readers: Object.keys(reads.getSnapshot().byUser).sort(),
  })
  const before = shown()
  const seen: unknown[] = []
  const statuses = [members, reads].map(statusesOf)
  for (const store of [members, reads]) store.subscribe(() => seen.push(shown()))
  proxy.cut()
  await isOffline(chat)
  proxy.mend()
  chat.wake()
  await isLive(chat)
  await Promise.all([until(members, ready), until(reads, ready)])
  expect(statuses.flat()).not.toContain('loading')
  expect(before.members).toHaveLength(2)
  for (const each of seen) expect(each).toEqual(before)
})
