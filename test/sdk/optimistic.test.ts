import type { ChannelEvent } from '@parley/client/internal/realtime/events'
import {
  type OptimisticUpdate,
  optimistic,
  withoutConfirmed,
} from '@parley/client/internal/room/optimistic'
import type { ChatMessage } from '@parley/client/internal/room/state'
import { expect, test } from 'vitest'
import { ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'

const knowing = (message: Partial<ChatMessage>) => new Map([['m', message as ChatMessage]])
const [pinned, unpinned] = [knowing({ pinned: true }), knowing({ pinned: false })]

test('a change that the server has reflected once is confirmed, even if it was undone', () => {
  const pending = [optimistic.pin('m', true)]
  expect(withoutConfirmed(pending, unpinned)).toBe(pending)
  const reflected = withoutConfirmed(pending, pinned)
  expect(reflected).toMatchObject([{ wasReflected: true }])
  const undone = withoutConfirmed(reflected, unpinned)
  expect(undone).toBe(reflected)
  const answered = undone.map((update): OptimisticUpdate => ({ ...update, hasResponse: true }))
  expect(withoutConfirmed(answered, unpinned)).toEqual([])
})

test('an answer confirms an edit, and other changes wait for their event', () => {
  const edit = optimistic.edit('m', { text: 'new', createdAt: '2026-01-01T00:00:00.000Z' })
  const shown = knowing({ pinned: false, deletedAt: null })
  const left = (update: OptimisticUpdate) => withoutConfirmed([update], shown)
  expect(left(edit)).toMatchObject([{ messageId: 'm' }])
  expect(left({ ...edit, hasResponse: true })).toEqual([])
  for (const update of [optimistic.delete('m'), optimistic.pin('m', true)])
    expect(left({ ...update, hasResponse: true })).toHaveLength(1)
})

test('only the event of the same change by the same user confirms a change', () => {
  const me = { id: 'me', name: 'Me', image: null }
  const reaction = (userId: string, emoji: string) =>
    ({
      type: 'reaction.added',
      payload: { messageId: 'm', reaction: { type: emoji, userId } },
    }) as ChannelEvent // as far as it is looked at
  const { isReflectedBy } = optimistic.react('m', '👍', { isOn: true, me })
  const events = [reaction('ana', '👍'), reaction('me', '🎉'), reaction('me', '👍')]
  expect(events.map(isReflectedBy)).toEqual([false, false, true])
  const updated = (isPinned: boolean) =>
    ({
      type: 'message.updated',
      payload: { message: { id: 'm', pinned: isPinned } },
    }) as ChannelEvent // likewise
  const pin = optimistic.pin('m', true)
  expect([updated(false), updated(true)].map(pin.isReflectedBy)).toEqual([false, true])
})

test("a reaction of many shows as many users with the user's own as without", () => {
  const user = (id: string) => ({ id, name: id, image: null })
  const users = Array.from({ length: 10 }, (_, index) => user(`user${index}`))
  const reactions = [{ type: '👍', count: 12, own: false, users }]
  const { apply } = optimistic.react('m', '👍', { isOn: true, me: user('me') })
  expect(apply({ reactions } as unknown as ChatMessage).reactions).toEqual([
    { type: '👍', count: 13, own: true, users },
  ])
})

test("a user's name goes with their reaction, and a reaction without users is hidden", () => {
  const user = (id: string) => ({ id, name: id, image: null })
  const users = [user('ana'), user('me')]
  const reactions = [
    { type: '👍', count: 2, own: true, users },
    { type: '🎉', count: 1, own: true, users: [user('me')] },
  ]
  const [thumb, party] = ['👍', '🎉'].map((emoji) =>
    optimistic.react('m', emoji, { isOn: false, me: user('me') }),
  )
  const without = thumb?.apply({ reactions } as unknown as ChatMessage).reactions
  expect(without?.[0]).toEqual({ type: '👍', count: 1, own: false, users: [user('ana')] })
  expect(party?.apply({ reactions } as unknown as ChatMessage).reactions).toEqual([reactions[0]])
})

test('pending messages and reactions show the current name and image of the user', async () => {
  const { chat, channel, emit, refuseRequests } = scriptedChat()
  channel('c').send('hello')
  const room = chat.channel('c')
  room.messages.subscribe(() => {})
  await chat.connect()
  await until(room.messages, ready)
  refuseRequests(/(messages|reactions)$/, { status: 503, code: 'UNAVAILABLE' })
  const before = room.send({ text: 'before' })
  const user = { id: 'me', name: 'Myself', image: 'https://example.com/me.png' }
  for (const profile of [{ ...user, image: null }, user]) {
    emit('user.updated', { user: profile })
    await quiet()
    const last = room.messages.getSnapshot().items.at(-1)
    expect([last?.user, before.message.user]).toEqual([profile, profile])
  }
  void room.react('c-0001', '👍').catch(() => {})
  const [hello] = room.messages.getSnapshot().items
  expect(hello?.reactions[0]?.users).toEqual([user])
  expect(room.send({ text: 'after' }).message.user).toEqual(user)
})

test('an edit is marked as such at once, and one of metadata alone is not', async () => {
  const { chat, channel, hold } = scriptedChat()
  channel('c').send('hello')
  const room = chat.channel('c')
  room.messages.subscribe(() => {})
  await chat.connect()
  await until(room.messages, ready)
  const shown = () => room.messages.getSnapshot().items[0]
  const held = hold(/^PATCH/)
  const edits = [room.edit('c-0001', { custom: { mood: 'glad' } })]
  expect(shown()).toMatchObject({ custom: { mood: 'glad' }, editedAt: null })
  edits.push(room.edit('c-0001', { text: 'Hello' }))
  expect(shown()).toMatchObject({ text: 'Hello', editedAt: expect.any(String) })
  await held.asked
  held.release()
  await Promise.all(edits)
})
