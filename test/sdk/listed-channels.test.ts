import type { Channel } from '@parley/client'
import { LatestProfiles } from '@parley/client/internal/channels/latest-profiles'
import {
  mergeFetched,
  withChannelProfile,
  withUserProfile,
} from '@parley/client/internal/channels/reducer'
import { VersionedParts } from '@parley/client/internal/channels/versions'
import { expect, onTestFinished, test, vi } from 'vitest'
import { isLive, isOffline, ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

const LIST = /^GET .*channels\?/

test("reads and roles of others, and older reads, leave one's own state", async () => {
  const { chat, channel, publish } = scriptedChat()
  const talk = channel('c')
  for (const text of ['one', 'two', 'three']) talk.send(text)
  await chat.connect()
  const list = chat.channels()
  const before = (await until(list, ready)).items[0]
  const topic = 'chat:app:c'
  const read = (userId: string, lastReadSeq: number) => {
    const position = { channelId: 'c', userId, lastReadSeq, lastReadMessageId: null }
    publish(topic, { type: 'read.updated', payload: { ...position, readAt: before?.createdAt } })
  }
  read('me', 2)
  read('me', 1)
  read('ana', 3)
  const user = { id: 'ana', name: 'ANA', image: null }
  const member = { channelId: 'c', userId: 'ana', user, role: 'moderator', memberCount: 2 }
  publish(topic, { type: 'channel.member_updated', payload: member }, talk.rev + 1)
  await quiet()
  expect(list.getSnapshot().items).toMatchObject([
    { lastReadSeq: 2, role: before?.role, rev: talk.rev + 1 },
  ])
})

test('a deletion fetches a listed channel again only if its last message is gone', async () => {
  const clock = stoppedClock()
  const { chat, channel, requests } = scriptedChat()
  const talk = channel('c')
  for (const text of ['one', 'two', 'three']) talk.send(text)
  await chat.connect()
  await until(chat.channels(), ready)
  await clock.forward(1_000)
  const [first, , last] = talk.messages.map(({ id }) => id)
  const before = requests.length
  talk.delete(first ?? '')
  await clock.forward(1_000)
  expect(requests).toHaveLength(before)
  const random = vi.spyOn(Math, 'random').mockReturnValue(0.5)
  onTestFinished(() => random.mockRestore())
  talk.delete(last ?? '')
  await clock.forward(1_400)
  expect(requests).toHaveLength(before)
  await clock.forward(200)
  expect(requests).toHaveLength(before + 1)
})

test('a new profile renames the direct messages with its user, and no group', () => {
  const record = scriptedChat().channel('c').record()
  const [user, me] = ['ana', 'me'].map((id) => ({ id, name: `New ${id}`, image: null }))
  if (!user || !me) throw new Error('two users were made')
  const members = [user, me].map((each) => ({
    userId: each.id,
    user: each,
    role: 'member' as const,
    custom: {},
    joinedAt: record.createdAt,
  }))
  const nameOf = (type: Channel['type'], profile: typeof user) => {
    const channel = { ...record, type, name: 'Old', members }
    return withUserProfile({ channel, sortKey: 0 }, profile, 'me').channel.name
  }
  expect(nameOf('messaging', user)).toBe('New ana')
  expect(nameOf('messaging', me)).toBe('Old')
  expect(nameOf('group', user)).toBe('Old')
})

test('a profile of a channel replaces the known one unless that one is newer', () => {
  const channel = { ...scriptedChat().channel('c').record(), name: 'Known' }
  const nameAfter = (updatedAt: string) =>
    withChannelProfile({ ...channel, name: 'New', updatedAt })({ channel, sortKey: 0 }).channel.name
  const timeOf = (ms: number) => new Date(Date.parse(channel.updatedAt) + ms).toISOString()
  expect([1, 0, -1].map(timeOf).map(nameAfter)).toEqual(['New', 'New', 'Known'])
})

test('a fetched record overwrites no count, setting or read that is newer', () => {
  const record = scriptedChat().channel('c').record()
  const newest = { unreadCount: 5, unreadVersion: 9, starred: true, muted: true }
  const known = { channel: { ...record, ...newest, lastReadSeq: 3 }, sortKey: 0 }
  const older = { ...record, unreadCount: 1, unreadVersion: 1, starred: false, muted: false }
  const merge = (before: typeof known | undefined, rev: number, readSeq: number) =>
    mergeFetched(before, { ...older, rev, lastReadSeq: 1 }, { ...newest, readSeq }).channel
  for (const rev of [record.rev - 1, record.rev, record.rev + 1]) {
    expect(merge(undefined, rev, 4)).toMatchObject({ ...newest, rev, lastReadSeq: 4 })
    const merged = merge(known, rev, 4)
    expect(merged).toMatchObject({ ...newest, rev: Math.max(rev, record.rev), lastReadSeq: 4 })
  }
})

test('a channel that the user can read but has not joined is in no list', async () => {
  const { chat, channel, intercept } = scriptedChat()
  channel('mine')
  await chat.connect()
  const list = chat.channels()
  await until(list, ready)
  const record = { ...scriptedChat().channel('open').record(), role: null }
  intercept(/^GET .*channels\/open$/, () => Response.json(record))
  const shown = await until(chat.channel('open').info, ready)
  expect(shown.channel).toMatchObject({ id: 'open', role: null })
  expect(list.getSnapshot().items.map(({ id }) => id)).toEqual(['mine'])
})

test('channels of the same moment are listed by id, in whichever order they come', async () => {
  const { chat, channel, emit } = scriptedChat()
  await chat.connect()
  const list = chat.channels()
  await until(list, ready)
  for (const id of ['b', 'a', 'c']) emit('channel.added', { channel: channel(id).record() })
  const { items } = await until(list, (listed) => listed.items.length === 3)
  expect(items.map(({ id }) => id)).toEqual(['c', 'b', 'a'])
})

test('the oldest page of a list says how old its settings are', async () => {
  const { chat, channel, hold, cut, mend, loseEvents, emitSettings } = scriptedChat()
  for (let n = 100; n < 220; n++) channel(`c${n}`)
  await chat.connect()
  const list = chat.channels()
  await until(list, ready)
  for (let page = 2; page <= 3; page++) await list.loadMore()
  cut()
  await isOffline(chat)
  loseEvents()
  mend()
  const first = hold(/^GET .*channels\?.*limit=100/)
  await first.asked
  emitSettings('c219', { starred: true, muted: false })
  await quiet()
  first.release()
  await isLive(chat)
  const { items } = await until(list, ready)
  expect([items.length, items[0]?.id, items[0]?.starred]).toEqual([120, 'c219', true])
})

test('a list whose load fails once the connection is lost is loaded by the next one', async () => {
  const clock = stoppedClock()
  const { chat, channel, hold, cut, mend, count } = scriptedChat()
  channel('c')
  await chat.connect()
  const list = chat.channels()
  const held = hold(LIST)
  list.subscribe(() => {})
  await held.asked
  cut()
  await isOffline(chat)
  held.release(Response.json({ error: { code: 'INTERNAL_ERROR' } }, { status: 500 }))
  await until(list, ({ status }) => status === 'failed')
  for (let second = 0; second < 60; second++) await clock.forward(1_000)
  expect([list.getSnapshot().status, count(LIST)]).toEqual(['failed', 1])
  mend()
  await clock.forward(30_000)
  await until(list, ready)
})

test('after a restore counts and settings of lower versions are taken', () => {
  const parts = new VersionedParts()
  parts.takeCount('c', { unreadCount: 3, unreadVersion: 9 })
  parts.takeSettings({ channelId: 'c', starred: true, muted: true }, 9)
  parts.clear()
  const count = { unreadCount: 1, unreadVersion: 2 }
  expect(parts.takeCount('c', count)).toEqual(count)
  const settings = { starred: false, muted: false }
  expect(parts.takeSettings({ channelId: 'c', ...settings }, 2)).toEqual(settings)
})

test('after a restore the list shows how far the user had read by the backup', async () => {
  const { chat, channel, cut, mend, loseEvents } = scriptedChat()
  const talk = channel('c')
  talk.send('hello')
  await chat.connect()
  const list = chat.channels()
  await until(list, ready)
  await quiet()
  talk.read('me')
  await until(list, ({ items }) => items[0]?.lastReadSeq === 1)
  cut()
  await isOffline(chat)
  talk.reads.set('me', 0)
  loseEvents()
  mend()
  await isLive(chat)
  expect((await until(list, ready)).items[0]?.lastReadSeq).toBe(0)
})

test('a profile received before a request does not replace the one in its answer', () => {
  const profiles = new LatestProfiles()
  const user = { id: 'ana', name: 'Ana', image: null }
  profiles.takeProfile(user)
  const asked = profiles.now
  expect(profiles.after(asked)).toEqual([])
  profiles.takeProfile({ ...user, name: 'Anna' })
  expect(profiles.after(asked)).toMatchObject([{ name: 'Anna' }])
})
