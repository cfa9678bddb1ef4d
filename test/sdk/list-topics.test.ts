import { RecordSubscriptions } from '@parley/client/internal/channels/subscriptions'
import { expect, test } from 'vitest'
import { ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { listed } from '../support/scripted/listed.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** The topics that a list subscribes to, and the requests that it makes. */

const LIST = /GET \/api\/channels\?/

test('a channel that is left or deleted goes, and its topic with it', async () => {
  const { chat, tell, one, topics, list, data } = await listed()
  expect(topics()).toEqual(['chat:app:one', 'chat:app:two', 'user:app:me'])
  tell('channel.removed', { channelId: 'one' })
  await until(list, ({ items }) => items.length === 1)
  await quiet()
  expect(topics()).toEqual(['chat:app:two', 'user:app:me'])
  expect(chat.unread.getSnapshot().byChannel).toEqual({ two: 0 })
  const { lastMessage: _, ...added } = one.record()
  tell('channel.added', { channel: added })
  await until(list, ({ items }) =>
    items.some(({ id, lastMessage }) => id === 'one' && lastMessage?.text === 'first'),
  )
  expect(topics()).toEqual(['chat:app:one', 'chat:app:two', 'user:app:me'])
  data.channels.delete('one')
  tell('channel.deleted', { channelId: 'one' })
  await until(list, ({ items }) => items.length === 1)
  await quiet()
  expect(topics()).toEqual(['chat:app:two', 'user:app:me'])
})

test('a room and a list share one subscription, which lasts as long as either', async () => {
  const clock = stoppedClock()
  const { chat, tell, topics, count } = await listed()
  const stop = chat.channel('one').watch()
  await clock.forward(1)
  await until(chat.channel('one').messages, ready)
  stop()
  await clock.forward(60_000)
  expect(topics()).toContain('chat:app:one')
  const again = chat.channel('one').watch()
  tell('channel.removed', { channelId: 'one' })
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
  subscriptions.remove('c0')
  subscriptions.add('c500', () => {})
  subscriptions.add('c501', () => {})
  expect([subscribed.size, subscribed.has('c500'), subscribed.has('c501')]).toEqual([
    500,
    true,
    false,
  ])
})

test('a channel of which the server says that it is removed goes from the list', async () => {
  const { chat, list, one, data } = await listed()
  data.channels.delete('one')
  // The event of a deletion makes the list fetch the record again.
  one.delete(one.messages.at(-1)?.id ?? '')
  await until(list, ({ items }) => items.length === 1)
  expect(list.getSnapshot().items.map(({ id }) => id)).toEqual(['two'])
  expect(chat.unread.getSnapshot().byChannel).toEqual({ two: 0 })
})
