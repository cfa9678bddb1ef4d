import { expect, test } from 'vitest'
import { isLive, isOffline, ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { listed } from '../support/scripted/listed.ts'
import { stoppedClock } from '../support/scripted/time.ts'

const LIST = /GET \/api\/channels\?/
const SYNC = /POST \/api\/sync/

test('events that arrive while a list loads are not undone by its answer', async () => {
  const { chat, channel, data, hold, emit, emitUnread, emitSettings } = scriptedChat()
  const talk = channel('c')
  talk.send('old')
  data.total = 7
  await chat.connect()
  const held = hold(LIST)
  const list = chat.channels()
  const stop = list.subscribe(() => {})
  await held.asked
  emitUnread('c', 3)
  emitSettings('c', { starred: true, muted: true })
  emit('channel.total_unread_changed', { count: 3 })
  emit('user.updated', { user: { id: 'ana', name: 'Ana II', image: null } })
  await quiet()
  held.release()
  const { items, totalUnread } = await until(list, ready)
  expect(totalUnread).toBe(3)
  expect(items).toMatchObject([
    { unreadCount: 3, starred: true, muted: true, lastMessage: { user: { name: 'Ana II' } } },
  ])
  stop()
})

test('counts, settings and reads that changed during a reload are kept', async () => {
  const { chat, data, hold, emit, emitUnread, emitSettings, ...rest } = await listed()
  const { one, list, cut, mend } = rest
  cut()
  await isOffline(chat)
  mend()
  data.total = 2
  const [held, sync] = [hold(LIST), hold(SYNC)]
  await Promise.all([held.asked, sync.asked])
  emitUnread('one', 5)
  emitSettings('one', { starred: true, muted: false })
  emit('channel.total_unread_changed', { count: 5 })
  one.read('me', 1)
  one.send('newer')
  await quiet()
  for (const { release } of [held, sync]) release()
  await isLive(chat)
  const { items, totalUnread } = await until(list, ready)
  expect(items.map(({ id }) => id)).toEqual(['one', 'two'].sort().reverse().reverse())
  expect(items.find(({ id }) => id === 'one')).toMatchObject({
    unreadCount: 5,
    starred: true,
    muted: false,
    lastReadSeq: 1,
    lastMessage: { text: 'newer' },
  })
  expect([totalUnread, chat.unread.getSnapshot().total]).toEqual([5, 5])
})

test('a read during a reload is not undone by the answer', async () => {
  const { chat, hold, one, list, cut, mend } = await listed()
  cut()
  await isOffline(chat)
  mend()
  const [held, sync] = [hold(LIST), hold(SYNC)]
  await held.asked
  one.read('me', 1)
  await quiet()
  for (const { release } of [held, sync]) release()
  await isLive(chat)
  const { items } = await until(list, ready)
  expect(items.find(({ id }) => id === 'one')?.lastReadSeq).toBe(1)
})

test('two requests for the next page make one call', async () => {
  const { chat, channel, count } = scriptedChat()
  for (let n = 100; n < 160; n++) channel(`c${n}`)
  await chat.connect()
  const list = chat.channels()
  expect((await until(list, ready)).hasMore).toBe(true)
  await quiet()
  await Promise.all([list.loadMore(), list.loadMore()])
  expect([list.getSnapshot().items.length, count(LIST)]).toEqual([60, 2])
  await list.loadMore()
  expect(count(LIST)).toBe(2)
})

test('after an outage whose events are lost a list is loaded as far as it was paged', async () => {
  const { chat, channel, cut, mend, loseEvents } = scriptedChat()
  for (let n = 100; n < 160; n++) channel(`c${n}`)
  await chat.connect()
  const list = chat.channels()
  await until(list, ready)
  await list.loadMore()
  cut()
  await isOffline(chat)
  channel('c105-new')
  loseEvents()
  mend()
  await isLive(chat)
  const { items } = await until(list, ready)
  expect(items.map(({ id }) => id)).toContain('c105-new')
})

test('a record that the server fails at is loaded again after growing pauses', async () => {
  const clock = stoppedClock()
  const { chat, channel, count, refuseRequests } = scriptedChat()
  channel('c')
  await chat.connect()
  const record = /^GET .*channels\/c$/
  refuseRequests(record)
  const { info } = chat.channel('c')
  info.subscribe(() => {})
  for (let second = 0; second < 60; second++) await clock.forward(1_000)
  expect(count(record)).toBeGreaterThan(4)
  expect(count(record)).toBeLessThan(12)
})

test('a list that failed is loaded again after growing pauses, but not while offline', async () => {
  const clock = stoppedClock()
  const { chat, channel, count, refuseRequests } = scriptedChat()
  channel('c')
  await chat.connect()
  refuseRequests(LIST)
  const list = chat.channels()
  list.subscribe(() => {})
  await until(list, ({ status }) => status === 'failed')
  await clock.forward(500)
  expect([list.getSnapshot().status, count(LIST)]).toEqual(['failed', 2])
  for (let second = 0; second < 60; second++) await clock.forward(1_000)
  const asked = count(LIST)
  expect(asked).toBeGreaterThan(4)
  expect(asked).toBeLessThan(12)
  chat.disconnect()
  refuseRequests()
  expect(clock.timers()).toBe(0)
  await clock.forward(60_000)
  expect(count(LIST)).toBe(asked)
  void chat.connect()
  expect((await until(list, ready)).error).toBeUndefined()
})

test('a record fetched before an edit does not undo the edit', async () => {
  const { chat, one, list, cut, mend, hold } = await listed()
  cut()
  await isOffline(chat)
  mend()
  const [held, sync] = [hold(LIST), hold(SYNC)]
  await held.asked
  one.edit('one-0001', 'edited')
  one.send('second')
  one.edit('one-0002', 'second, edited')
  await quiet()
  for (const { release } of [held, sync]) release()
  await isLive(chat)
  const { items } = await until(list, ready)
  expect(items.find(({ id }) => id === 'one')).toMatchObject({
    rev: one.rev,
    lastMessage: { text: 'second, edited' },
  })
})

test('when the last message is deleted, the list shows the one before it', async () => {
  const { one, list, count } = await listed()
  one.send('last')
  await quiet()
  const before = count(SYNC)
  one.delete('one-0001')
  await quiet()
  expect(count(SYNC)).toBe(before)
  one.send('very last')
  await quiet()
  one.delete('one-0003')
  await until(list, ({ items }) =>
    items.every(({ lastMessage }) => lastMessage?.text !== 'very last'),
  )
  await until(list, ({ items }) => items.some(({ lastMessage }) => lastMessage?.text === 'last'))
  expect(count(SYNC)).toBe(before)
})

test('an unread count of a channel with a newer record changes nothing but the count', async () => {
  const { emit, emitUnread, one, list } = await listed()
  const before = list.getSnapshot()
  emit('channel.unread_changed', { channelId: 'two', count: 0, version: 0 })
  one.type('ana')
  await quiet()
  expect(list.getSnapshot()).toBe(before)
  emitUnread('two', 4)
  const { items } = await until(list, (shown) => shown !== before)
  expect(items.map(({ id, unreadCount }) => [id, unreadCount])).toEqual([
    ['two', 4],
    ['one', 0],
  ])
  expect(items[1]).toBe(before.items[1])
})

test('a new message moves its channel up, an older event does not', async () => {
  const { one, two, list } = await listed()
  const order = () => list.getSnapshot().items.map(({ id }) => id)
  const before = order()
  two.react('two-0001', '👍')
  one.react('one-0001', '👍')
  one.edit('one-0001', 'edited')
  await quiet()
  expect(order()).toEqual(before)
  for (const id of ['one', 'two', 'one']) {
    const talk = id === 'one' ? one : two
    talk.send('a')
    talk.send('b')
    await until(list, ({ items }) => items[0]?.id === id)
    await quiet()
  }
})

test('the list shows no deleted message, though newer events overtake the answer', async () => {
  const { one, list, hold } = await listed()
  for (const text of ['last', 'very last']) one.send(text)
  await quiet()
  const held = hold(SYNC)
  for (const id of ['one-0002', 'one-0003']) one.delete(id)
  await held.asked
  one.pin('one-0001')
  await quiet()
  held.release()
  const { items } = await until(list, ({ items }) =>
    items.every(({ lastMessage }) => lastMessage?.deletedAt === null),
  )
  expect(items.find(({ id }) => id === 'one')).toMatchObject({
    rev: one.rev,
    lastMessage: { text: 'first', pinned: true },
  })
})

test('a count and settings that arrive late do not replace newer ones', async () => {
  const { emit, emitUnread, emitSettings, list } = await listed()
  emitUnread('one', 3)
  emitSettings('one', { starred: true, muted: false })
  emitUnread('one', 2)
  emitSettings('one', { starred: true, muted: true })
  const shown = () => list.getSnapshot().items.find(({ id }) => id === 'one')
  await until(list, () => shown()?.muted === true)
  const before = shown()
  emit('channel.unread_changed', { channelId: 'one', count: 3, version: 1 })
  await quiet()
  expect(shown()).toBe(before)
  expect(before).toMatchObject({ unreadCount: 2, starred: true, muted: true })
})
