import {
  applyChannelEvent,
  sortKeysOf,
  withChannelProfile,
  withUserProfile,
} from '@parley/client/internal/channels/reducer'
import type { ChannelEvent } from '@parley/client/internal/realtime/events'
import { optimistic } from '@parley/client/internal/room/optimistic'
import { shownPins, updatePins } from '@parley/client/internal/room/pins'
import { applyProfiles, profilesOf } from '@parley/client/internal/room/profiles'
import { applyEvent, upsertMessages } from '@parley/client/internal/room/reducer'
import { type ChannelState, emptyState, toChatMessage } from '@parley/client/internal/room/state'
import { addNewest } from '@parley/client/internal/room/timeline'
import { expect, test } from 'vitest'
import { createChannel, timeOf } from '../support/scripted/channel.ts'

/** A channel of three, and the state of a client of `me` that has loaded all of it. */
function followed() {
  let state: ChannelState = emptyState
  const events: ChannelEvent[] = []
  const talk = createChannel('c', {
    me: 'me',
    memberIds: ['me', 'ana', 'ben'],
    publish: (envelope, rev) => {
      const event = structuredClone({ ...envelope, rev }) as ChannelEvent // of the same type
      events.push(event)
      state = applyEvent(state, event, 'me')
    },
  })
  talk.send('root')
  talk.send('other')
  talk.react('c-0001', '👍', 'me')
  Object.assign(talk.find('c-0002'), { mentions: ['ana'], attachments: [{ type: 'file' }] })
  const messages = structuredClone(talk.messages)
  state = {
    ...addNewest(emptyState, { messages, hasMore: false }),
    members: new Map(talk.members.map((member) => [member.userId, member])),
    reads: { me: { lastReadSeq: 0, readAt: null }, ben: { lastReadSeq: 1, readAt: timeOf(1) } },
    pins: [],
  }
  return { talk, events, known: () => state }
}
/** Events do not say when a message was changed by a reaction or a reply. */
const comparable = (messages: readonly object[]) =>
  messages.map((message) => ({ ...message, updatedAt: null, status: null }))

test('after each event a room equals what a client that loads it now is shown', () => {
  const { talk, known } = followed()
  const steps = [
    () => talk.send('reply', { parentId: 'c-0001' }),
    () => talk.react('c-0001', '👍', 'ana'),
    () => talk.edit('c-0001', 'edited'),
    () => talk.unreact('c-0001', '👍', 'me'),
    () => talk.react('c-0001', '🎉', 'me'),
    () => talk.react('c-0002', '👍', 'me'),
    () => talk.pin('c-0002'),
    () => talk.delete('c-0002'),
    () => talk.delete('c-0003'),
  ]
  for (const step of steps) {
    step()
    expect(comparable(known().messages.values())).toEqual(comparable(talk.messages))
    expect(known().rev).toBe(talk.rev)
  }
  expect(known().messages.get('c-0003')?.updatedAt).toBe(timeOf(talk.rev))
})

test('a user who leaves is no member or reader, and one who types twice is shown once', () => {
  const { talk, known } = followed()
  for (const userId of ['ana', 'ben', 'ana']) talk.type(userId)
  expect(known().typing.map(({ id }) => id)).toEqual(['ben', 'ana'])
  talk.leave('ben')
  expect([...(known().members?.keys() ?? [])]).toEqual(['me', 'ana'])
  expect(Object.keys(known().reads ?? {})).toEqual(['me'])
})

test('a fetched copy of the same rev says which reactions are the own ones', () => {
  const { talk, known } = followed()
  talk.send('new')
  const [reaction] = talk.find('c-0001').reactions
  const fetched = { ...talk.find('c-0003'), reactions: reaction ? [reaction] : [] }
  expect(upsertMessages(known(), [fetched]).messages.get('c-0003')?.reactions).toEqual([reaction])
})

test('a new name is shown wherever the user is', () => {
  const { talk, known } = followed()
  talk.react('c-0001', '👍', 'ana')
  talk.type('ana')
  const pinned = { ...talk.find('c-0002'), pinnedBy: 'ben', pinnedAt: timeOf(9) }
  const before = { ...known(), pins: [pinned] }
  const textOf = ({ messages, members, pins, typing }: ChannelState) =>
    JSON.stringify([messages.values(), [...(members?.values() ?? [])], pins, typing])
  expect(textOf(before).match(/"ANA"/g)).toHaveLength(6)
  const after = applyProfiles(before, profilesOf({ id: 'ana', name: 'Anna', image: null }))
  expect(textOf(after)).toBe(textOf(before).replaceAll('"ANA"', '"Anna"'))
})

test('pins follow newer copies of their messages, and stay stale until they are loaded', () => {
  const { talk, known } = followed()
  const pinOf = (text: string) => {
    talk.edit('c-0001', text)
    const message = { ...talk.find('c-0001'), pinned: true }
    return { ...message, pinnedBy: 'ana', pinnedAt: timeOf(1) }
  }
  const [older, pin, newer] = [pinOf('1'), pinOf('2'), pinOf('3')]
  const state = { ...known(), pins: [pin], arePinsStale: true }
  const areFetched = true
  expect(updatePins(state, [{ ...older, pinned: false }], { areFetched }).pins).toEqual([pin])
  const followedUp = updatePins(state, [newer], { areFetched: false })
  expect(followedUp).toMatchObject({ pins: [{ text: '3' }], arePinsStale: true })
  // It may have been pinned by another meanwhile.
  const fresh = { ...state, arePinsStale: false }
  expect(updatePins(fresh, [newer], { areFetched }).arePinsStale).toBe(true)
  expect(updatePins(fresh, [pin], { areFetched }).arePinsStale).toBe(false)
  expect(updatePins(fresh, [{ ...newer, pinned: false }], { areFetched }).pins).toEqual([])
  expect(updatePins(fresh, [talk.find('c-0002')], { areFetched })).toBe(fresh)
})

test('a message that the user has just unpinned is no longer listed', () => {
  const { talk, known } = followed()
  const message = toChatMessage({ ...talk.find('c-0001'), pinned: true })
  const pin = { ...message, pinnedBy: 'ana', pinnedAt: timeOf(1) }
  const state = { ...known(), pins: [pin] }
  const shownAs = (pinned: boolean) =>
    shownPins([], { state, updates: [optimistic.pin(message.id, pinned)], me: 'me' })
  expect(shownAs(true)).toEqual([pin])
  expect(shownAs(false)).toEqual([])
})

test('a listed channel follows each event once, and knows how many members there are', () => {
  const { talk, events } = followed()
  const before = { channel: talk.record(), sortKey: 0 }
  const from = events.length
  talk.join('cem')
  talk.leave('ben')
  talk.leave('ana')
  const after = events
    .slice(from)
    .reduce((listed, event) => applyChannelEvent(listed, event, 'me'), before)
  expect(after.channel).toMatchObject({ memberCount: 2, rev: talk.rev })
  for (const event of events)
    expect(applyChannelEvent(after, event, 'me').channel).toEqual(after.channel)
})

test('a listed direct message keeps the name of the other, and a page keeps its order', () => {
  const { talk } = followed()
  const channel = { ...talk.record(), type: 'messaging' as const, name: 'ANA' }
  const profile = { ...channel, name: 'ANA, BEN', image: 'x', updatedAt: timeOf(9) }
  const changed = withChannelProfile(profile)({ channel, sortKey: 0 })
  expect(changed.channel).toMatchObject({ name: 'ANA', image: null, updatedAt: timeOf(9) })
  const page = ['first', 'second', 'third'].map((id) => ({ ...channel, id }))
  const keys = [...sortKeysOf(page)].sort(([, a], [, b]) => b - a)
  expect(new Set(keys.map(([, key]) => key)).size).toBe(3)
  expect(keys.map(([id]) => id)).toEqual(['first', 'second', 'third'])
})

test('a new name is that of the direct messages with that user, and of no others', () => {
  const talk = createChannel('c', { me: 'me', memberIds: ['me', 'ana'], publish: () => {} })
  const record = { ...talk.record(), type: 'messaging' as const, name: 'ANA' }
  const listed = { channel: { ...record, members: talk.members }, sortKey: 1 }
  const renamed = (id: string) =>
    withUserProfile(listed, { id, name: 'New', image: null }, 'me').channel
  expect(['ana', 'ben', 'me'].map((id) => renamed(id).name)).toEqual(['New', 'ANA', 'ANA'])
  const membersAfter = (id: string) => renamed(id).members?.map(({ user }) => user.name)
  expect(['ana', 'ben', 'me'].map(membersAfter)).toEqual([
    ...[
      ['ME', 'New'],
      ['ME', 'ANA'],
      ['New', 'ANA'],
    ],
  ])
})

test('a join event that arrives late keeps the read position that was loaded after it', () => {
  const { talk, events, known } = followed()
  talk.join('cem')
  const join = events.at(-1)
  talk.read('cem', 2)
  expect(known().reads?.cem?.lastReadSeq).toBe(2)
  const again = join && applyEvent({ ...known(), rev: 0 }, join, 'me')
  expect(again?.reads?.cem?.lastReadSeq).toBe(2)
})
