import { memoryStorage } from '@parley/client'
import { createSnapshots } from '@parley/client/snapshots'
import { expect, test } from 'vitest'
import { isOffline, ready, until } from '../support/chat.ts'
import { timeOf } from '../support/scripted/channel.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'

const LIST = /^GET \/api\/channels\?/

test('a message between the page of a list and its subscription is shown', async () => {
  const { chat, channel, hold } = scriptedChat()
  const talk = channel('c')
  talk.send('before')
  await chat.connect()
  const page = hold(LIST)
  const list = chat.channels()
  list.subscribe(() => {})
  await page.asked
  talk.send('meanwhile')
  page.release()
  const { items } = await until(list, ({ items }) => items[0]?.lastMessage?.text === 'meanwhile')
  expect(items[0]?.rev).toBe(talk.rev)
})

test('a channel beyond the topics of a list shows its message once its count changes', async () => {
  const { chat, channel, topics, emitUnread } = scriptedChat()
  for (let n = 100; n <= 600; n++) channel(`c${n}`)
  await chat.connect()
  const list = chat.channels()
  await until(list, ready)
  while (list.getSnapshot().hasMore) await list.loadMore()
  await quiet()
  const last = list.getSnapshot().items.at(-1)?.id ?? ''
  expect(topics()).not.toContain(`chat:app:${last}`)
  channel(last).send('newest')
  emitUnread(last, 1)
  const { items } = await until(list, ({ items }) => items[0]?.id === last)
  expect(items[0]).toMatchObject({ unreadCount: 1, lastMessage: { text: 'newest' } })
})

test('a record that no list shows has its current settings after a gap', async () => {
  const { chat, channel, data, cut, mend, loseEvents } = scriptedChat()
  const talk = channel('01234567-89ab-7cde-8f01-23456789abcd')
  await chat.connect()
  const { info } = chat.channel(talk.id)
  info.subscribe(() => {})
  await until(info, ready)
  cut()
  await isOffline(chat)
  talk.own.starred = true
  data.settingsVersion += 1
  loseEvents()
  mend()
  chat.wake()
  await until(info, ({ channel }) => channel?.starred === true)
})

test('channels with messages of the same moment stay in the order of the server', async () => {
  const { chat, channel, intercept } = scriptedChat()
  const channels = ['a', 'b', 'c'].map((id) => channel(id).record())
  intercept(LIST, () => Response.json({ channels, settingsVersion: 0 }))
  await chat.connect()
  const { items } = await until(chat.channels(), ready)
  expect(items.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
})

test('a late event of a channel does not overwrite a newer name in its record', async () => {
  const { chat, channel, intercept, emit } = scriptedChat()
  const record = channel('c').record()
  const channels = [{ ...record, name: 'new', updatedAt: timeOf(2) }]
  intercept(LIST, () => Response.json({ channels, settingsVersion: 0 }))
  await chat.connect()
  const list = chat.channels()
  await until(list, ready)
  const names = new Set<string | undefined>()
  list.subscribe(() => void names.add(list.getSnapshot().items[0]?.name))
  for (const [index, name] of ['late', 'newest'].entries()) {
    const profile = { ...record, name, updatedAt: timeOf(2 * index + 1) }
    emit('channel.updated', { channelId: 'c', channel: profile })
  }
  await until(list, ({ items }) => items[0]?.name === 'newest')
  expect(names).not.toContain('late')
})

test('a list that is made after a start from what was stored is loaded', async () => {
  const rows = new Map<string, object>()
  const snapshots = createSnapshots(
    {
      load: async () => [...rows].map(([key, value]) => ({ key, value })),
      put: async (_owner, key, value) => void rows.set(key, value),
      delete: async (_owner, key) => void rows.delete(key),
    },
    { intervalMs: 0 },
  )
  const options = { storage: memoryStorage(), snapshots, userId: 'me' }
  const before = scriptedChat(options)
  before.channel('stored')
  await before.chat.connect()
  await until(before.chat.channels(), ready)
  await expect.poll(() => rows.size).toBe(1)
  before.chat.disconnect()
  const { chat, channel } = scriptedChat(options)
  for (const id of ['stored', 'new']) channel(id)
  const all = chat.channels()
  all.subscribe(() => {})
  await chat.connect()
  await until(all, ({ items }) => items.length === 2)
  const groups = chat.channels({ type: 'group' })
  groups.subscribe(() => {})
  expect((await until(groups, ready)).items).toHaveLength(2)
})
