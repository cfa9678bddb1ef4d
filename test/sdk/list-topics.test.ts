import { RecordSubscriptions } from '@parley/client/internal/channels/subscriptions'
import { expect, test } from 'vitest'
import { isLive, isOffline, ready, until } from '../support/chat.ts'
import { timeOf } from '../support/scripted/channel.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { listed } from '../support/scripted/listed.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** The topics that a list subscribes to, and the requests that it makes. */

const LIST = /GET \/api\/channels\?/

test('a channel that is left or deleted goes, and its topic with it', async () => {
  const { chat, emit, one, topics, list, data } = await listed()
  expect(topics()).toEqual(['chat:app:one', 'chat:app:two', 'user:app:me'])
  emit('channel.removed', { channelId: 'one' })
  await until(list, ({ items }) => items.length === 1)
  await quiet()
  expect(topics()).toEqual(['chat:app:two', 'user:app:me'])
  expect(chat.unread.getSnapshot().byChannel).toEqual({ two: 0 })
  const { lastMessage: _, ...added } = one.record()
  emit('channel.added', { channel: added })
  await until(list, ({ items }) =>
    items.some(({ id, lastMessage }) => id === 'one' && lastMessage?.text === 'first'),
  )
  expect(topics()).toEqual(['chat:app:one', 'chat:app:two', 'user:app:me'])
  data.channels.delete('one')
  emit('channel.deleted', { channelId: 'one' })
  await until(list, ({ items }) => items.length === 1)
  await quiet()
  expect(topics()).toEqual(['chat:app:two', 'user:app:me'])
})

test('a channel whose topic the server ends goes, and its count with it', async () => {
  const { chat, refuse, topics, list } = await listed()
  refuse('chat:app:one')
  const { items } = await until(list, ({ items }) => items.length === 1)
  expect(items.map(({ id }) => id)).toEqual(['two'])
  expect(topics()).toEqual(['chat:app:two', 'user:app:me'])
  expect(chat.unread.getSnapshot().byChannel).toEqual({ two: 0 })
})

test('a room and a list share one subscription, which lasts as long as either', async () => {
  const clock = stoppedClock()
  const { chat, emit, topics, count } = await listed()
  const stop = chat.channel('one').watch()
  await clock.forward(1)
  await until(chat.channel('one').messages, ready)
  stop()
  await clock.forward(60_000)
  expect(topics()).toContain('chat:app:one')
  const again = chat.channel('one').watch()
  emit('channel.removed', { channelId: 'one' })
  await clock.forward(10)
  again()
  await clock.forward(60_000)
  expect([topics(), count(/members/)]).toEqual([['chat:app:two', 'user:app:me'], 0])
})

test('a list without listeners is not loaded, and two listeners load it once', async () => {
  const { chat, channel, count } = scriptedChat()
  channel('c')
  await chat.connect()
  await quiet()
  expect(count(LIST)).toBe(0)
  for (const _ of [1, 2]) chat.channels().subscribe(() => {})
  chat.channels().getSnapshot()
  await until(chat.channels(), ready)
  await Promise.all([chat.channels().loadMore(), chat.channels().loadMore()])
  expect(count(LIST)).toBe(1)
})

test('a list subscribes to 500 topics, and to another once one of them has gone', () => {
  const subscribed = new Set<string>()
  const subscriptions = new RecordSubscriptions({
    subscribe: (channelId: string) => {
      subscribed.add(channelId)
      return () => void subscribed.delete(channelId)
    },
  } as unknown as ConstructorParameters<typeof RecordSubscriptions>[0]) // all that it uses
  for (let index = 0; index < 502; index++) subscriptions.add(`c${index}`, () => {})
  expect([subscribed.size, subscribed.has('c500')]).toEqual([500, false])
  subscriptions.delete('c0')
  subscriptions.add('c500', () => {})
  subscriptions.add('c501', () => {})
  expect([subscribed.size, subscribed.has('c500'), subscribed.has('c501')]).toEqual([
    500,
    true,
    false,
  ])
})

test('a channel that is gone by the answer to its subscription is subscribed no more', () => {
  const subscribed = new Set<string>()
  const subscriptions: RecordSubscriptions = new RecordSubscriptions({
    subscribe: (channelId: string) => {
      subscribed.add(channelId)
      // The answer is there at once.
      subscriptions.delete(channelId)
      return () => void subscribed.delete(channelId)
    },
  } as unknown as ConstructorParameters<typeof RecordSubscriptions>[0]) // all that it uses
  subscriptions.add('c', () => {})
  expect([subscribed.size, subscriptions.has('c')]).toEqual([0, false])
})

test('an outage trims an unwatched list to 200 channels and the open rooms', async () => {
  const { chat, channel, topics, count, cut, mend } = scriptedChat()
  for (let index = 0; index < 240; index++)
    Object.assign(channel(`c${index}`).send('hello'), { createdAt: timeOf(index) })
  await chat.connect()
  const list = chat.channels()
  const known = () => Object.keys(chat.unread.getSnapshot().byChannel)
  const reconnect = async () => {
    cut()
    await isOffline(chat)
    mend()
    chat.wake()
    await isLive(chat)
    await quiet()
  }
  // Paging needs no watcher.
  while ((await until(list, ready)).hasMore) await list.loadMore()
  const [shown] = list.getSnapshot().items
  const oldest = list.getSnapshot().items.at(-1)?.id ?? ''
  const leave = list.subscribe(() => {})
  await reconnect()
  expect([list.getSnapshot().items.length, known().length]).toEqual([240, 240])
  const close = chat.channel(oldest).info.subscribe(() => {})

  leave()
  await reconnect()
  expect([list.getSnapshot().items.length, list.getSnapshot().hasMore]).toEqual([200, true])
  expect([list.getSnapshot().items[0], known().length]).toEqual([shown, 201])
  expect(topics()).toHaveLength(202)
  expect(chat.channel(oldest).info.getSnapshot()).toMatchObject({ status: 'ready' })

  // Paging goes on from there, and a room that was left is released with the next channels.
  close()
  const lists = count(LIST)
  await list.loadMore()
  expect([list.getSnapshot().items.length, count(LIST) - lists]).toEqual([240, 1])
  await reconnect()
  expect(known()).toHaveLength(200)
  expect(known()).not.toContain(oldest)
})

test('a page asked for before a count does not overwrite it, whatever is released', async () => {
  const clock = stoppedClock()
  const { chat, channel, hold, emitUnread } = scriptedChat()
  const oldest = '00000000-0000-4000-8000-000000000000'
  channel(oldest).send('hello')
  for (let index = 2; index < 60; index++)
    Object.assign(channel(`c${index}`).send('hello'), { createdAt: timeOf(index) })
  await chat.connect()
  const list = chat.channels()
  await until(list, ready)
  const close = chat.channel(oldest).info.subscribe(() => {})
  await clock.forward(1_000)
  close()
  const page = hold(LIST)
  const loaded = list.loadMore()
  await page.asked
  emitUnread(oldest, 3)
  await quiet()
  expect(chat.unread.getSnapshot().byChannel[oldest]).toBe(3)
  // Rooms beyond the last 20 are freed, and with them the records that nothing needs.
  for (let index = 2; index < 25; index++) chat.channel(`c${index}`).watch()()
  await clock.forward(10_000)
  page.release()
  await loaded
  expect(list.getSnapshot().items.at(-1)).toMatchObject({ id: oldest, unreadCount: 3 })
})

test('channels dropped while a list loads are released at the end of the load', async () => {
  const clock = stoppedClock()
  const { chat, channel, hold, emitUnread } = scriptedChat()
  for (let index = 0; index < 60; index++)
    Object.assign(channel(`c${index}`).send('hello'), { createdAt: timeOf(index) })
  await chat.connect()
  await until(chat.channels(), ready)
  const known = () => Object.keys(chat.unread.getSnapshot().byChannel)
  const page = hold(LIST)
  const groups = chat.channels({ type: 'group' })
  groups.subscribe(() => {})
  await page.asked
  emitUnread('c0', 1)
  await quiet()
  for (let index = 10; index < 40; index++) chat.channel(`c${index}`).watch()()
  await clock.forward(10_000)
  expect(known()).toContain('c0')
  page.release()
  await until(groups, ready)
  await quiet()
  expect(known()).not.toContain('c0')
})

test('a channel that the server reports as removed leaves the list', async () => {
  const { chat, list, one, data } = await listed()
  data.channels.delete('one')
  // The event of a deletion makes the list fetch the record again.
  one.delete(one.messages.at(-1)?.id ?? '')
  await until(list, ({ items }) => items.length === 1)
  expect(list.getSnapshot().items.map(({ id }) => id)).toEqual(['two'])
  expect(chat.unread.getSnapshot().byChannel).toEqual({ two: 0 })
})

test('a room that is opened without a connection does not count as subscribed', async () => {
  const { chat, cut } = await listed()
  cut()
  await isOffline(chat)
  const { typing } = chat.channel('one')
  typing.subscribe(() => {})
  await quiet()
  expect(typing.getSnapshot().status).toBe('loading')
})
