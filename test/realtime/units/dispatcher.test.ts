import type { StoredEvent } from '@parley/server/core/event-buffer'
import { hintOf } from '@parley/server/realtime/hints'
import { closings } from '@parley/server/realtime/protocol/codes'
import { expect, test } from 'vitest'
import { appId, channelId, chat, Listener, own, pass, stopTimers } from '../hub/fixture.ts'
import { announcer, openDispatcher, TYPING_MS, typing } from './dispatcher.ts'
import { ana } from './fixture.ts'

test('a revocation closes sockets on every node, and is sent to the others once', async () => {
  const { dispatcher, revocations, closed, sent } = await openDispatcher()
  dispatcher.receive({ kind: 'revoked', revoked: ana })
  expect([closed, sent]).toEqual([[closings.forced.code], []])
  revocations.publish(ana)
  expect(closed).toHaveLength(2)
  expect(sent).toEqual([{ kind: 'revoked', revoked: ana }])
  revocations.publish({ ...ana, userId: 'ben' })
  revocations.publish({ keyHash: 'hash' })
  expect([closed.length, sent.length]).toEqual([2, 3])
  dispatcher.stop()
  revocations.publish(ana)
  expect([closed.length, sent.length]).toEqual([2, 3])
})

test('the node of the typist announces the stop; other nodes stop it only locally', async () => {
  stopTimers()
  const { dispatcher, hub, sent } = await openDispatcher()
  const listener = new Listener()
  await listener.join(hub, chat)
  dispatcher.receive(typing('typing.stop'))
  dispatcher.receive(typing('typing.start'))
  await pass(10 * TYPING_MS)
  const local = ['typing.start', 'typing.stop']
  expect([listener.received, sent]).toEqual([local, []])
  dispatcher.publisher.broadcast(typing('typing.stop'))
  dispatcher.publisher.broadcast(typing('typing.start'))
  await pass(10 * TYPING_MS)
  expect(listener.received).toEqual([...local, ...local])
  expect(sent).toMatchObject([{ type: 'typing.start' }, { type: 'typing.stop' }])
  dispatcher.publisher.broadcast(typing('typing.start'))
  dispatcher.stop()
  await pass(10 * TYPING_MS)
  expect(sent).toHaveLength(3)
})

test('a stop of typing passes through a node that may have missed the start', async () => {
  stopTimers()
  const { dispatcher, hub, sent } = await openDispatcher()
  const stop = () => dispatcher.publisher.broadcast(typing('typing.stop'))
  stop()
  expect(sent).toMatchObject([{ type: 'typing.stop' }])
  // It may have begun before this node had subscribers.
  await new Listener().join(hub, chat)
  stop()
  expect(sent).toHaveLength(2)
  await pass(TYPING_MS)
  stop()
  expect(sent).toHaveLength(2)
})

test('an event for one user reaches no other user, here or from another node', async () => {
  const { dispatcher, hub } = await openDispatcher()
  const [anas, bens] = [new Listener(), new Listener('ben')]
  for (const each of [anas, bens]) await each.join(hub, chat)
  const note = { ...typing('typing.start'), onlyFor: 'ben' }
  dispatcher.receive(note)
  dispatcher.publisher.broadcast(note)
  expect([anas.received, bens.received]).toEqual([[], ['typing.start', 'typing.start']])
})

test('a right that changed ends the subscriptions that relied on it', async () => {
  const { dispatcher, hub, memory } = await openDispatcher()
  const [listener, ben] = [new Listener(), new Listener('ben')]
  for (const each of [listener, ben]) await each.join(hub, chat)
  dispatcher.receive({ kind: 'rights', ...ana })
  await pass()
  expect(listener.ended).toEqual([])
  memory.excluded.add('ana')
  dispatcher.receive({ kind: 'rights', ...ana })
  await pass()
  expect([listener.ended, ben.ended]).toEqual([['no longer allowed'], []])
})

test('a user who lost a right during a failure loses their subscription after it', async () => {
  const { dispatcher, hub, memory, calls } = await openDispatcher()
  const listener = new Listener()
  await listener.join(hub, chat)
  memory.excluded.add('ana')
  memory.failure = new Error('busy')
  dispatcher.receive({ kind: 'rights', ...ana })
  await pass()
  dispatcher.recheckFailed()
  await pass()
  expect([listener.ended, calls.length]).toEqual([[], 2])
  memory.failure = undefined
  dispatcher.recheckFailed()
  await pass()
  expect(listener.ended).toEqual(['no longer allowed'])
  // That was the last time.
  memory.failure = new Error('busy')
  dispatcher.recheckFailed()
  await pass()
  expect(calls).toHaveLength(2)
})

test('stored events are delivered here and announced to the other nodes', async () => {
  const { dispatcher, hub, memory, sent, events } = await openDispatcher()
  const listener = new Listener()
  await listener.join(hub, chat)
  dispatcher.publisher.publish(memory.appendSeveral(chat, 2))
  expect(listener.received).toEqual([1, 2])
  expect(sent).toEqual([1, 2].map((offset) => ({ kind: 'hint', topic: chat, offset })))
  expect(events).toEqual([2])
})

test('an event goes along with its hint to those who follow its topic', async () => {
  const { dispatcher, memory, sent } = await openDispatcher({ hasPeers: true })
  const message = { message: { userId: 'ben' } } as never // no more of it is read
  const [said, renamed] = [
    memory.append(chat, { type: 'message.new', payload: message }, 'id'),
    memory.append(chat, { type: 'channel.updated', payload: {} as never }),
  ]
  dispatcher.publisher.publish([said, renamed])
  const { type, envelope, messageId } = said
  const at = expect.any(Number)
  expect(sent).toEqual([
    { kind: 'hint', topic: chat, offset: 1, event: { type, envelope, messageId, at } },
    { kind: 'hint', topic: chat, offset: 2, change: { type: 'channel.updated', announcer } },
  ])
})

const stored = (type: StoredEvent['type'], payload: object = {}) =>
  ({ topic: chat, offset: 7, type, payload, envelope: '', messageId: null }) as StoredEvent
const hints: [StoredEvent, unknown[][]][] = [
  [
    stored('message.new', { message: { userId: 'ben' } }),
    [['markDirty', channelId, { offset: 7, author: 'ben' }]],
  ],
  [stored('message.deleted'), [['markDirty', channelId, { offset: 7, isDeletion: true }]]],
  [stored('message.updated'), []],
  [stored('channel.member_joined', { userId: 'ben' }), [['markDirty', channelId, { offset: 7 }]]],
  [stored('channel.member_left', { userId: 'ben' }), [['memberLeft', { appId, userId: 'ben' }]]],
  [stored('channel.updated'), [['channelUpdated', chat, 7, 'node']]],
  [stored('channel.deleted'), [['channelDeleted', channelId]]],
]
test.each(hints)('$type has the same consequences for users on every node', async (event, due) => {
  const { dispatcher, calls, sent } = await openDispatcher()
  dispatcher.publisher.publish([event])
  expect(calls.splice(0)).toEqual(due)
  // The sending node could not see to the users of all nodes: each does so for its own.
  dispatcher.receive(hintOf(event))
  const own = due.map(([name, ...given]) => [
    name === 'markDirty' ? 'markOwn' : name,
    ...given.filter((each) => each !== 'node'),
  ])
  expect(calls.splice(0)).toEqual(own)
  // A node counts for all.
  for (const note of sent) dispatcher.receive(note)
  expect(calls).toEqual(due.filter(([name]) => name !== 'markDirty'))
})

test('counts of another node are handed on', async () => {
  const { dispatcher, calls } = await openDispatcher()
  const note = { kind: 'counts' as const, node: 'node', channels: [] }
  dispatcher.receive(note)
  expect(calls).toEqual([['receive', note]])
})

test('a change that newer ones followed is not recorded if its announcer gives up', async () => {
  const { dispatcher, calls } = await openDispatcher()
  const presence = { kind: 'presence', ...ana, isOnline: true, lastActiveAt: null } as const
  dispatcher.receive({ ...presence, failed: announcer })
  const user = { id: 'ana', name: 'Ana', image: null }
  dispatcher.receive({ kind: 'profile', appId, user, failed: announcer })
  expect(calls).toEqual([])
})

test('a node announces its changes, and other nodes act on those that it announces', async () => {
  const { dispatcher, calls, sent } = await openDispatcher()
  const presence = { kind: 'presence', ...ana, isOnline: true, lastActiveAt: null } as const
  dispatcher.presenceChanged(presence)
  const user = { id: 'ana', name: 'Ana', image: null }
  dispatcher.publisher.broadcast({ kind: 'profile', appId, user })
  expect(sent).toEqual([
    { ...presence, announcer },
    { kind: 'profile', appId, user, announcer },
  ])
  const names = calls.map(([name]) => name)
  expect(names).toEqual(['recordPresence', 'presenceChanged', 'recordProfile', 'profileChanged'])
})

const online = { type: 'presence.online', payload: { userId: 'ben' } }
test.each([online, { ...online, type: 'presence.offline' }])(
  '$type of another node is noted as sent, unless it came after a newer one',
  async (event) => {
    const groups = [['AQ==', ['ana']]]
    const note = { kind: 'fanout', node: 'node', fanouts: [{ appId, event }], groups }
    const late = await openDispatcher({ isFanoutNewest: false })
    const { dispatcher, calls } = await openDispatcher()
    for (const each of [late.dispatcher, dispatcher]) each.receive(note as never)
    const received = ['receiveFanout', { userIds: ['ana'], fanout: { appId, event } }]
    const ofBen = expect.objectContaining({ appId, userId: 'ben' })
    expect(late.calls).toEqual([received])
    expect(calls).toEqual([received, ['recordSent', ofBen, event === online]])
  },
)

test('presence and profiles that are sent on are noted as known', async () => {
  const { dispatcher, calls } = await openDispatcher()
  const presence = { kind: 'presence', ...ana, isOnline: true, lastActiveAt: null } as const
  dispatcher.receive(presence)
  expect(calls.splice(0)).toEqual([
    ['recordPresence', presence],
    ['presenceChanged', presence],
  ])
  const user = { id: 'ana', name: 'Ana', image: null }
  dispatcher.receive({ kind: 'profile', appId, user } as never)
  expect(calls.map(([name]) => name)).toEqual(['recordProfile', 'profileChanged'])
})

test('counts that operations send users are noted', async () => {
  const { dispatcher, calls } = await openDispatcher()
  const send = (event: object) =>
    dispatcher.receive({ kind: 'event', topic: own, ...event } as never)
  const counted = { channelId, count: 3, version: 5 }
  send({ type: 'channel.unread_changed', payload: counted, snapshot: 7 })
  // From a node of an earlier version.
  send({ type: 'channel.unread_changed', payload: counted })
  send({ type: 'channel.total_unread_changed', payload: { count: 4 } })
  send({ type: 'channel.deleted', payload: { channelId } })
  dispatcher.receive(typing('typing.start'))
  expect(calls).toEqual([
    ['recordCount', expect.objectContaining(ana), { ...counted, snapshot: 7 }],
    ['recordCount', expect.objectContaining(ana), { ...counted, snapshot: Number.NaN }],
    ['recordTotal', expect.objectContaining(ana), 4],
    ['memberLeft', expect.objectContaining(ana)],
  ])
})

test("a node answers another node's presence only when a user left", async () => {
  const { dispatcher, calls } = await openDispatcher()
  const note = { kind: 'presence' as const, ...ana, lastActiveAt: null }
  dispatcher.receive({ ...note, isOnline: true })
  // Both nodes of a user would answer each other for ever.
  expect(calls.map(([name]) => name)).not.toContain('handleOfflineElsewhere')
  dispatcher.receive({ ...note, isOnline: false })
  expect(calls.at(-1)).toMatchObject(['handleOfflineElsewhere', ana])
})
