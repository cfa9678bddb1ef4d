import type { ChatClient } from '@parley/client'
import { expect, test } from 'vitest'
import { chatOf, GROUP, isLive, isOffline, liveChatOf, ready, until } from '../support/chat.ts'
import { openClock } from '../support/clock.ts'
import { insertWorkspace } from '../support/inserted.ts'
import { withoutVersion } from '../support/shown.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

/** The channels as a client shows them. A fresh client of the same user shows the same. */
const shown = async (chat: ChatClient) => {
  const { items, totalUnread } = await until(chat.channels(), ready)
  return {
    items: items.map(withoutVersion),
    totalUnread,
    unread: chat.unread.getSnapshot(),
  }
}
async function freshlyShown(userId: string) {
  const { chat } = await liveChatOf(world(), userId)
  return shown(chat)
}

test('messages update a channel that was added later like any other', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: old } = await ana.channels.create({ ...GROUP, name: 'Old', memberIds: ['ben'] })
  const { chat } = await liveChatOf(world(), 'ben')
  const list = chat.channels()
  await until(list, (shown) => ready(shown) && shown.items.length === 1)
  const { id } = await ana.channels.create({ ...GROUP, name: 'New', memberIds: ['ben'] })
  await until(list, ({ items }) => items[0]?.id === id)
  await ana.messages.send({ channelId: old, text: 'here' })
  await until(list, ({ items }) => items[0]?.id === old)
  await ana.messages.send({ channelId: id, text: 'there' })
  await until(
    list,
    ({ items, totalUnread }) =>
      items[0]?.lastMessage?.text === 'there' && items[0].unreadCount === 1 && totalUnread === 2,
  )
  await expect.poll(() => shown(chat)).toEqual(await freshlyShown('ben'))
})

test('starring and muting a channel shows on the other device, in every list', async () => {
  const [ana] = await world().users('ana', 'cem')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['cem'] })
  const [phone, desk] = await Promise.all([liveChatOf(world(), 'cem'), liveChatOf(world(), 'cem')])
  const lists = [desk.chat.channels(), desk.chat.channels({ type: 'group' })]
  for (const list of lists) await until(list, (shown) => ready(shown) && shown.items.length === 1)
  const payloads: unknown[] = []
  const positions: unknown[] = []
  desk.chat.on('channel.settings_changed', ({ payload, topic, rev }) => {
    payloads.push(payload)
    positions.push([topic, rev])
  })
  for (const settings of [{ starred: true }, { muted: true }, { starred: false }])
    await phone.chat.api.channels.updateSettings({ channelId, ...settings })
  for (const list of lists)
    await until(list, ({ items }) => items[0]?.muted === true && !items[0].starred)
  expect(payloads).toEqual([
    { channelId, starred: true, muted: false },
    { channelId, starred: true, muted: true },
    { channelId, starred: false, muted: true },
  ])
  const topic = `user:${world().appId}:cem`
  expect(positions).toEqual([2, 3, 4].map((rev) => [topic, rev]))
})

test('a setting changed while the list loads is not overwritten by the response', async () => {
  const [ana] = await world().users('ana', 'dora')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['dora'] })
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const { chat } = await liveChatOf(world(), 'dora', {
    fetch: (async (url, options) => {
      const response = await fetch(url, options)
      if (String(url).includes('/api/channels?')) await released
      return response
    }) as typeof fetch,
  })
  const list = chat.channels()
  const listed = until(list, ready)
  const isUnread = new Promise<void>((resolve) => {
    chat.on('channel.total_unread_changed', ({ payload }) => {
      if (payload.count === 1) resolve()
    })
  })
  await chat.api.channels.get({ channelId })
  await chat.api.channels.updateSettings({ channelId, starred: true })
  await ana.messages.send({ channelId, text: 'unread' })
  await isUnread
  release()
  await listed
  await until(list, ({ items }) => items[0]?.unreadCount === 1 && items[0].starred)
})

test.each([
  ['events can be recovered', false],
  ['events are lost', true],
])(
  'counts, settings and channels changed while offline are right afterwards if %s',
  async (_, areLost) => {
    const userId = `away-${areLost}`
    const [ana, me] = await world().users('ana', userId)
    const make = async (name: string) =>
      (await ana.channels.create({ ...GROUP, name, memberIds: [userId] })).id
    const ids = {
      said: await make('Said'),
      rejoined: await make('Rejoined'),
      left: await make('Left'),
      deleted: await make('Deleted'),
      muted: await make('Muted'),
    }
    for (const channelId of Object.values(ids))
      await ana.messages.send({ channelId, text: 'before' })
    const { chat, proxy } = await liveChatOf(world(), userId)
    await until(chat.channels(), (shown) => ready(shown) && shown.totalUnread === 5)
    proxy.cut()
    await isOffline(chat)
    expect(chat.channels().getSnapshot().status).toBe('stale')
    await ana.messages.send({ channelId: ids.said, text: 'after' })
    await me.members.leave({ channelId: ids.rejoined })
    await ana.members.add({ channelId: ids.rejoined, userIds: [userId] })
    await ana.messages.send({ channelId: ids.rejoined, text: 'welcome back' })
    await me.members.leave({ channelId: ids.left })
    await ana.channels.delete({ channelId: ids.deleted })
    await me.channels.updateSettings({ channelId: ids.muted, muted: true, starred: true })
    await me.reads.mark({ channelId: ids.muted })
    const { id: added } = await ana.channels.create({
      ...GROUP,
      name: 'Added',
      memberIds: [userId],
    })
    await ana.messages.send({ channelId: added, text: 'hello' })
    if (areLost)
      await world().db`
        update service
        set value = value || 'x'
        where key = 'epoch'`
    proxy.mend()
    await isLive(chat)
    const expected = await freshlyShown(userId)
    expect(expected.unread).toEqual({
      total: 4,
      byChannel: { [ids.said]: 2, [ids.rejoined]: 1, [ids.muted]: 0, [added]: 1 },
    })
    await expect.poll(() => shown(chat)).toEqual(expected)
  },
)

test('a paged list keeps its length, order and hasMore across an outage', async () => {
  const [ana] = await world().users('ana', 'eve')
  const workspaceId = await insertWorkspace(world(), { ana: 'owner', eve: 'member' })
  for (let n = 0; n < 110; n++)
    await ana.channels.create({ ...GROUP, name: `c${n}`, memberIds: ['eve'], workspaceId })
  const { chat, proxy } = await liveChatOf(world(), 'eve')
  const list = chat.channels()
  await until(list, ready)
  await list.loadMore()
  const before = list.getSnapshot()
  expect([before.items.length, before.hasMore]).toEqual([100, true])
  proxy.cut()
  await isOffline(chat)
  // An offset that no event has cannot be recovered over.
  await world().db`
    update user_streams
    set last_offset = last_offset + 1
    where app_id = ${world().appId}`
  const lengths = new Set<number>()
  list.subscribe(() => lengths.add(list.getSnapshot().items.length))
  proxy.mend()
  await isLive(chat)
  expect(await until(list, ready)).toEqual(before)
  expect([...lengths]).toEqual([100])
  await list.loadMore()
  expect([list.getSnapshot().items.length, list.getSnapshot().hasMore]).toEqual([110, false])
})

test('unchanged snapshots keep their identity across a reconnect', async () => {
  const [ana] = await world().users('ana', 'gus')
  const { id } = await ana.channels.create({ ...GROUP, memberIds: ['gus'] })
  const { chat, proxy } = await liveChatOf(world(), 'gus')
  const before = await until(chat.channels(), ready)
  const room = chat.channel(id)
  room.watch()
  const messages = await until(room.messages, ready)
  const typing = room.typing.getSnapshot()
  proxy.reset()
  await isOffline(chat)
  await isLive(chat)
  const after = await until(chat.channels(), ready)
  await until(room.messages, ready)
  expect(after.items).toBe(before.items)
  expect(room.messages.getSnapshot().items).toBe(messages.items)
  expect(room.typing.getSnapshot()).toBe(typing)
})

test('a list that failed to load is loaded again automatically', async () => {
  const [ana] = await world().users('ana', 'hal')
  await ana.channels.create({ ...GROUP, memberIds: ['hal'] })
  let isDown = true
  const { chat } = await liveChatOf(world(), 'hal', {
    fetch: (async (url, options) =>
      isDown && String(url).includes('/api/channels?')
        ? new Response('{}', { status: 500 })
        : fetch(url, options)) as typeof fetch,
  })
  const clock = openClock()
  const list = chat.channels()
  await until(list, ({ status, error }) => status === 'failed' && error?.code === 'INTERNAL_ERROR')
  isDown = false
  await clock.forward(3_000)
  await until(list, (shown) => ready(shown) && shown.items.length === 1)
})

test('the list of channels shows new messages, new channels and reads', async () => {
  const [ana] = await world().users('ana', 'ida')
  const { id: one } = await ana.channels.create({ ...GROUP, name: 'One', memberIds: ['ida'] })
  await ana.channels.create({ ...GROUP, name: 'Two', memberIds: ['ida'] })
  const { chat } = await chatOf(world(), 'ida')
  const list = chat.channels()
  await chat.connect()
  await until(list, (shown) => ready(shown) && shown.items.length === 2)
  await ana.messages.send({ channelId: one, text: 'hello' })
  const shown = await until(
    list,
    ({ items, totalUnread }) => items[0]?.unreadCount === 1 && totalUnread === 1,
  )
  expect(shown.items.map(({ name, lastMessage }) => [name, lastMessage?.text])).toEqual([
    ['One', 'hello'],
    ['Two', undefined],
  ])
  await ana.channels.create({ ...GROUP, name: 'Three', memberIds: ['ida'] })
  expect((await until(list, ({ items }) => items.length === 3)).items[0]?.name).toBe('Three')
  await chat.channel(one).markRead()
  await until(list, ({ totalUnread }) => totalUnread === 0)
})
