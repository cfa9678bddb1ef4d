import { expect, test } from 'vitest'
import { GROUP, liveChatOf, ready, until } from '../support/chat.ts'
import { refusal } from '../support/refusal.ts'
import { useWorld } from '../support/world.ts'
import { at, channel, channelIdOf, importInto, member, message, user } from './records.ts'

const world = useWorld({ timings: { reconcileMs: 300 } })

test('a connected client shows imported channels without a reload', async () => {
  const { chat } = await liveChatOf(world(), 'fay')
  const list = chat.channels()
  await until(list, ready)
  const news = [user('fay'), channel('news'), member('news', 'fay')]
  await importInto(world(), [...news, message('n1', 'news', { userId: 'fay' })])
  const id = channelIdOf(world(), 'news')
  await until(list, ({ items }) => items.some((item) => item.id === id))
})

test('a connected client shows imported channels that its user has read in part', async () => {
  const { chat } = await liveChatOf(world(), 'gus')
  const list = chat.channels()
  await until(list, ready)
  await importInto(world(), [
    ...[user('ana'), user('gus'), channel('half'), member('half', 'ana'), member('half', 'gus')],
    ...[message('h1', 'half'), message('h2', 'half', { createdAt: at(2) })],
    { record: 'read', channelId: 'half', userId: 'gus', messageId: 'h1', createdAt: at(3) },
  ])
  const id = channelIdOf(world(), 'half')
  await until(list, ({ items }) => items.some((item) => item.id === id && item.unreadCount === 1))
})

test('the total of unread messages goes on from those of imported channels', async () => {
  const [ana, hal] = await world().users('ana', 'hal')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['hal'] })
  const { chat } = await liveChatOf(world(), hal.id)
  await until(chat.channels(), ready)
  const total = (expected: number) => until(chat.unread, ({ total }) => total === expected)
  await ana.messages.send({ channelId, text: 'live' })
  await total(1)
  await importInto(world(), [
    ...[channel('more'), member('more', 'ana'), member('more', 'hal')],
    ...[message('o1', 'more'), message('o2', 'more', { createdAt: at(2) })],
    { record: 'read', channelId: 'more', userId: 'hal', messageId: 'o1', createdAt: at(3) },
  ])
  await total(2)
  await ana.messages.send({ channelId, text: 'live' })
  await total(3)
})

test('a client shows the channels of a file that ended late, after another file', async () => {
  const { db } = world()
  const late = [user('ida'), channel('late'), member('late', 'ida')]
  await db`
    alter table channels
    add constraint cut check (name is distinct from 'late' or deleted_at is not null)`
  try {
    expect(await refusal(importInto(world(), late))).toMatchObject({ code: 'INTERNAL_ERROR' })
  } finally {
    await db`alter table channels drop constraint cut`
  }
  await importInto(world(), [user('jon'), channel('other'), member('other', 'jon')])
  const { chat } = await liveChatOf(world(), 'ida')
  const list = chat.channels()
  await until(list, ready)
  await importInto(world(), late)
  const id = channelIdOf(world(), 'late')
  await until(list, ({ items }) => items.some((item) => item.id === id))
})
