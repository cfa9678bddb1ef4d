import { select } from '@parley/client'
import { applyEvent, upsertMessages } from '@parley/client/internal/room/reducer'
import { type ChannelState, emptyState } from '@parley/client/internal/room/state'
import {
  addNewest,
  addSent,
  dropShownSent,
  trimWindow,
  visibleMessages,
  withWindow,
} from '@parley/client/internal/room/timeline'
import { expect, test } from 'vitest'
import { isOffline, ready, texts, until } from '../support/chat.ts'
import { createChannel } from '../support/scripted/channel.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

test('a listener is not called after its unsubscribe, even within the same change', async () => {
  const { chat, channel } = scriptedChat()
  const talk = channel('c')
  const room = chat.channel('c')
  await chat.connect()
  room.messages.subscribe(() => {})
  await until(room.messages, ready)
  const called: string[] = []
  const on = [
    (listener: () => void) => room.messages.subscribe(listener),
    (listener: () => void) => select(room.messages, (shown) => shown).subscribe(listener),
    (listener: () => void) => chat.on('message.new', listener),
  ]
  for (const [index, subscribe] of on.entries()) {
    const stop = subscribe(() => {
      called.push(`first ${index}`)
      stop()
      stopOther()
    })
    const stopOther = subscribe(() => called.push(`other ${index}`))
  }
  talk.send('one')
  talk.send('two')
  await until(room.messages, ({ items }) => items.length === 2)
  expect(called.sort()).toEqual(['first 0', 'first 1', 'first 2'])
})

test('a listener that throws is reported, and the others are still called', async () => {
  const errors: unknown[] = []
  const { chat, channel } = scriptedChat({ onError: (error) => errors.push(error) })
  const talk = channel('c')
  const room = chat.channel('c')
  await chat.connect()
  room.messages.subscribe(() => {})
  await until(room.messages, ready)
  const received = new Set<string>()
  const fail = () => {
    throw new Error('of the application')
  }
  for (const listener of [fail, () => received.add('store')]) room.messages.subscribe(listener)
  for (const listener of [fail, () => received.add('event')]) chat.on('message.new', listener)
  talk.send('one')
  await quiet()
  expect([...received].sort()).toEqual(['event', 'store'])
  expect(errors.length).toBeGreaterThan(1)
})

test('a selected part notifies its listeners of its own changes only', async () => {
  const { chat, channel } = scriptedChat()
  const talk = channel('c')
  const room = chat.channel('c')
  await chat.connect()
  room.messages.subscribe(() => {})
  await until(room.messages, ready)
  const count = select(room.messages, ({ items }) => items.length)
  const notified: number[] = []
  count.subscribe(() => notified.push(count.getSnapshot()))
  const message = talk.send('one')
  await quiet()
  talk.edit(message.id, 'edited')
  await until(room.messages, ({ items }) => items[0]?.text === 'edited')
  expect(notified).toEqual([1])
})

test('messages without replies load although a jump among them has failed', async () => {
  const { chat, channel, hold, refuseRequests } = scriptedChat()
  const talk = channel('c')
  const { id: parentId } = talk.send('hello')
  // The newest page of all messages has no root.
  for (let count = 0; count < 60; count++) talk.send('reply', { parentId })
  const room = chat.channel('c')
  room.watch()
  await chat.connect()
  await until(room.messages, ready)
  const page = hold(/messages\?.*replies=false/)
  const roots = room.messages({ replies: false })
  roots.subscribe(() => {})
  await page.asked
  refuseRequests(/GET .*nowhere/, { status: 404, code: 'NOT_FOUND' })
  await expect(roots.jumpTo('nowhere')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  page.release()
  await until(roots, ready)
  expect(texts(roots.getSnapshot())).toEqual(['hello'])
})

test('known newest messages are shown as roots, too, before these are loaded', async () => {
  const { chat, channel, hold } = scriptedChat()
  const talk = channel('c')
  const root = talk.send('root')
  talk.send('reply', { parentId: root.id })
  const room = chat.channel('c')
  room.messages.subscribe(() => {})
  await chat.connect()
  await until(room.messages, ready)
  const page = hold(/messages\?.*replies=false/)
  const roots = room.messages({ replies: false })
  roots.subscribe(() => {})
  await page.asked
  expect(texts(roots.getSnapshot())).toEqual(['root'])
  page.release()
  await until(roots, ready)
  expect(texts(roots.getSnapshot())).toEqual(['root'])
})

test('a load that a disconnect interrupts is finished by the next connection', async () => {
  const { chat, channel, hold, topics } = scriptedChat()
  const talk = channel('c')
  talk.send('one')
  await chat.connect()
  const page = hold(/POST \/api\/sync/)
  const room = chat.channel('c')
  const stops = [room.messages, room.members].map((store) => store.subscribe(() => {}))
  await page.asked
  chat.disconnect()
  await isOffline(chat)
  talk.send('two')
  page.release()
  await quiet()
  await chat.connect()
  await until(room.messages, ready)
  expect((await until(room.members, ready)).items).toHaveLength(2)
  expect(texts(room.messages.getSnapshot())).toEqual(['one', 'two'])
  talk.send('three')
  await until(room.messages, ({ items }) => items.length === 3)
  for (const stop of [...stops, ...stops]) stop()
  expect(topics()).toContain('chat:app:c')
})

test('handles of a freed room go on: paging, jumps, sends and a subscription', async () => {
  const clock = stoppedClock()
  const { chat, channel } = scriptedChat()
  const ids = Array.from({ length: 22 }, (_, index) => `c${index}`)
  for (const id of ids) {
    const { send } = channel(id)
    for (let n = 1; n <= 120; n++) send(`${n}`)
  }
  await chat.connect()
  const rooms = ids.map((id) => chat.channel(id))
  const [freed = chat.channel('c0')] = rooms
  const { loadOlder, jumpTo } = freed.messages
  for (const room of rooms) {
    const stop = room.watch()
    await clock.forward(10)
    await until(room.messages, ready)
    stop()
    await clock.forward(2_000)
  }
  expect(chat.channel('c0')).toBe(freed)
  expect(texts(freed.messages.getSnapshot())).toEqual([])
  await loadOlder()
  await jumpTo('c0-0010')
  expect(texts(freed.messages.getSnapshot())).toContain('10')
  const { sent } = freed.send({ text: 'sent' })
  await clock.forward(2_000)
  await sent
  expect(texts(freed.messages.getSnapshot()).at(-1)).toBe('sent')
  freed.messages.subscribe(() => {})
  await clock.forward(10)
  await until(freed.messages, ready)
  const latest = freed.messages.jumpToLatest()
  await clock.forward(10)
  await latest
  expect(texts(freed.messages.getSnapshot()).slice(-2)).toEqual(['120', 'sent'])
})

/** Messages of a channel, and its events. */
function sentMessages(count: number) {
  const events: Parameters<typeof applyEvent>[1][] = []
  const talk = createChannel('c', {
    me: 'me',
    memberIds: ['me', 'ana'],
    publish: (envelope, rev) => events.push({ ...envelope, rev }),
  })
  for (let n = 1; n <= count; n++) talk.send(`${n}`)
  return { events, messages: talk.messages }
}

test('messages that arrive below a window into history are kept up to a limit', () => {
  const { events, messages } = sentMessages(3_000)
  const history = messages.slice(50, 100)
  const window = { from: 51, to: 100 }
  let state: ChannelState = withWindow(upsertMessages(emptyState, history), {}, window)
  for (const event of events.slice(100, 200)) state = applyEvent(state, event, 'me')
  for (const message of messages.slice(150, 153)) state = addSent(state, message)
  for (const event of events.slice(200)) state = trimWindow(applyEvent(state, event, 'me'), 1_000)
  expect(state.messages.size).toBeLessThanOrEqual(1_053)
  expect(texts({ items: visibleMessages(state) }).slice(-4)).toEqual(['100', '151', '152', '153'])
  for (const { messages } of [state, trimWindow(state, 40)])
    expect(messages.range(51, 100).flat()).toHaveLength(50)
  const newest = { messages: messages.slice(-50), hasMore: true } as const
  expect(addNewest(state, newest).mainWindow?.from).toBe(2_951)
})

test('a bounded number of sent messages waits for a timeline that is never opened', () => {
  const { messages } = sentMessages(300)
  const page = { messages: [], hasMore: false } as const
  const sent = messages.reduce(
    (state, message) => dropShownSent(addSent(state, { ...message, parentId: 'root' })),
    addNewest(emptyState, page),
  )
  expect(sent.justSent.length).toBeLessThanOrEqual(100)
  expect(sent.justSent.at(-1)?.messageId).toBe(messages.at(-1)?.id)
})

test('a listener gets an event once, with its place, when rooms and lists show it', async () => {
  const { chat, channel, emit } = scriptedChat()
  const talk = channel('c')
  const [room, list] = [chat.channel('c'), chat.channels()]
  for (const store of [room.messages, list]) store.subscribe(() => {})
  await chat.connect()
  await Promise.all([until(room.messages, ready), until(list, ready)])
  await quiet()
  const received: unknown[] = []
  const types: string[] = []
  const stop = chat.on('*', ({ type }) => types.push(type))
  chat.on('message.new', ({ payload: _, ...event }) => {
    const [{ lastMessage } = {}] = list.getSnapshot().items
    received.push(event, texts(room.messages.getSnapshot()), lastMessage?.text)
  })
  chat.on('channel.total_unread_changed', () => received.push(chat.unread.getSnapshot().total))
  talk.send('one')
  emit('channel.total_unread_changed', { count: 5 })
  talk.type('ana')
  const place = { topic: 'chat:app:c', channelId: 'c', rev: 1 }
  expect(received).toEqual([{ type: 'message.new', ...place }, ['one'], 'one', 5])
  stop()
  talk.type('ana', false)
  expect(types).toEqual(['message.new', 'channel.total_unread_changed', 'typing.start'])
})
