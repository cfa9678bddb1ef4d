import type { Envelope } from '@parley/contract'
import { expect, test } from 'vitest'
import { upTo } from '../../support/events.ts'
import {
  appId,
  channelId,
  chat,
  filled,
  Listener,
  openHub,
  own,
  pass,
  stopTimers,
} from './fixture.ts'

const left = (userId: string): Envelope => ({
  type: 'channel.member_left',
  payload: { channelId, userId } as never, // the hub reads the user only
})

test('a gap of more than one read of the log is filled to its end', async () => {
  const { hub, memory } = await openHub()
  const listener = new Listener()
  await listener.join(hub, chat)
  memory.appendSeveral(chat, 1_201)
  hub.handleHint(chat, 1_201)
  await pass()
  expect(listener.received).toEqual(upTo(1_201))
  expect(memory.reads.map((read) => read[0]?.[1])).toEqual([0, 500, 1_000])
})

test('the gaps of all topics are read by one statement', async () => {
  const { hub, memory } = await openHub()
  const listener = new Listener()
  for (const topic of [chat, own]) {
    await listener.join(hub, topic)
    memory.appendSeveral(topic, 2)
  }
  await hub.reconcile()
  await pass()
  expect(memory.reads).toEqual([
    [
      [chat, 0],
      [own, 0],
    ],
  ])
  expect(listener.received).toEqual([1, 2, 1, 2])
})

test('a gap that the log no longer covers ends the subscriptions, which start again', async () => {
  const { hub, memory } = await openHub()
  const listener = new Listener()
  await listener.join(hub, chat)
  memory.appendSeveral(chat, 3)
  memory.forget(chat, 1)
  hub.handleHint(chat, 3)
  await pass()
  expect([listener.received, listener.ended]).toEqual([[], ['insufficient state']])
  expect((await listener.join(hub, chat)).position.offset).toBe(3)
  hub.publish([memory.append(chat)])
  expect(listener.received).toEqual([4])
})

test("a gap that ends a user's own topic is reported", async () => {
  const { hub, memory, changes } = await openHub()
  const listener = new Listener()
  await listener.join(hub, own)
  memory.appendSeveral(own, 3)
  memory.forget(own, 1)
  hub.handleHint(own, 3)
  await pass()
  expect([changes, listener.ended]).toEqual([['ana reset'], ['insufficient state']])
})

test('removing a topic twice does not remove the newer one of its name', async () => {
  const { hub, memory } = await openHub()
  const listener = new Listener()
  await listener.join(hub, chat)
  memory.appendSeveral(chat, 3)
  memory.forget(chat, 1)
  const readFirst = memory.hold()
  hub.handleHint(chat, 3)
  await pass()
  // It is missing still while the first read is under way.
  hub.handleHint(chat, 3)
  readFirst()
  const readSecond = memory.hold()
  await pass()
  expect(listener.ended).toEqual(['insufficient state'])
  const joined = listener.join(hub, chat)
  readSecond()
  await joined
  hub.publish([memory.append(chat)])
  expect(listener.received).toEqual([4])
})

test('a gap that could not be read is read at the next reconciliation', async () => {
  const { hub, memory, problems } = await openHub()
  const listener = new Listener()
  await listener.join(hub, chat)
  memory.appendSeveral(chat, 2)
  memory.failure = new Error('out of reach')
  hub.handleHint(chat, 2)
  await pass()
  expect([listener.received, problems]).toEqual([[], ['gap read failed']])
  memory.failure = undefined
  await hub.reconcile()
  await pass()
  expect(listener.received).toEqual([1, 2])
  expect(listener.ended).toEqual([])
})

test('a hint of an event that is not readable yet causes one read, then a wait', async () => {
  const { hub, memory } = await openHub()
  const listener = new Listener()
  await listener.join(hub, chat)
  hub.handleHint(chat, 1)
  await pass()
  expect(memory.reads).toHaveLength(1)
  memory.append(chat)
  await hub.reconcile()
  await pass()
  expect(listener.received).toEqual([1])
})

test('a hint for a topic without subscribers is ignored', async () => {
  const { hub, memory } = await openHub()
  hub.handleHint(chat, memory.append(chat).offset)
  await pass()
  expect(memory.reads).toEqual([])
})

test('an event that arrives while its gap is read is delivered once', async () => {
  stopTimers()
  const { hub, memory } = await openHub()
  const listener = new Listener()
  await listener.join(hub, chat)
  const events = memory.appendSeveral(chat, 3)
  const answer = memory.hold()
  hub.handleHint(chat, 2)
  await pass()
  hub.publish(events)
  answer()
  await pass(25)
  expect(listener.received).toEqual([1, 2, 3])
})

test('a member who left gets their own leaving as the last event, the others go on', async () => {
  const { hub, memory } = await openHub()
  const [ana, ben] = [new Listener('ana'), new Listener('ben')]
  for (const each of [ana, ben]) await each.join(hub, chat)
  hub.publish([memory.append(chat, left('ben')), memory.append(chat)])
  expect([ben.received, ben.ended]).toEqual([[1], ['no longer allowed']])
  expect([ana.received, ana.ended]).toEqual([[1, 2], []])
})

test('the deletion of a channel is the last event of every subscription', async () => {
  const { hub, memory } = await openHub()
  const [ana, ben] = [new Listener('ana'), new Listener('ben')]
  for (const each of [ana, ben]) await each.join(hub, chat)
  hub.publish([
    memory.append(chat, { type: 'channel.deleted', payload: { channelId } }),
    memory.append(chat),
  ])
  for (const each of [ana, ben]) {
    expect([each.received, each.ended]).toEqual([[1], ['no longer allowed']])
  }
})

test("after channel.removed the channel's topic reads its own last event at once", async () => {
  const { hub, memory, changes } = await openHub()
  const ana = new Listener('ana')
  for (const topic of [own, chat]) await ana.join(hub, topic)
  // The note about the channel was lost.
  memory.append(chat, left('ana'))
  hub.publish([memory.append(own, { type: 'channel.removed', payload: { channelId } })])
  await pass()
  expect(changes).toEqual(['ana channel.removed'])
  expect(ana.ended).toEqual(['no longer allowed'])
})

test('a recheck ends a subscription that is still being answered', async () => {
  const { hub, memory } = await openHub()
  const [ana, ben] = [new Listener('ana'), new Listener('ben')]
  await ana.join(hub, chat)
  const answer = memory.hold()
  const joined = hub.subscribe(ben, [{ topic: chat, recover: null }])
  memory.excluded.add('ben')
  const rechecked = hub.recheck(ben, [chat])
  answer()
  await rechecked
  const [subscribed] = await joined
  expect(subscribed?.subscription.isOver).toBe(true)
  subscribed?.release()
  hub.publish([memory.append(chat)])
  expect([ana.received, ben.received]).toEqual([[1], []])
  await hub.recheck({ appId, userId: 'ana' }, [chat])
  expect(ana.ended).toEqual([])
})

test('a recheck ends no subscription that began or ended after it had begun', async () => {
  const { hub, memory } = await openHub()
  const [first, second] = [new Listener('ana'), new Listener('ana')]
  const { subscription } = await first.join(hub, chat)
  const answer = memory.hold()
  memory.excluded.add('ana')
  const rechecked = hub.recheck(first, [chat])
  // The user may read the topic again, and subscribes again.
  memory.excluded.delete('ana')
  subscription.leave()
  const joined = second.join(hub, chat)
  answer()
  await rechecked
  expect((await joined).subscription.isOver).toBe(false)
  expect([first.ended, second.ended]).toEqual([[], []])
})

test('gaps are counted by the reason of their read: a hint, or a reconciliation', async () => {
  const { hub, memory } = await openHub()
  const listener = new Listener()
  await listener.join(hub, chat)
  const before = { hint: await filled('hint'), missed: await filled('missed') }
  memory.appendSeveral(chat, 3)
  hub.handleHint(chat, 3)
  await pass()
  memory.appendSeveral(chat, 2)
  await hub.reconcile()
  await pass()
  expect(listener.received).toEqual(upTo(5))
  expect((await filled('hint')) - before.hint).toBe(3)
  expect((await filled('missed')) - before.missed).toBe(2)
})

test('a gap that appears during a read that finds nothing is read, and ends nothing', async () => {
  stopTimers()
  const { hub, memory } = await openHub()
  const listener = new Listener()
  await listener.join(hub, chat)
  const first = memory.append(chat)
  await hub.reconcile()
  hub.publish([first])
  const answer = memory.hold()
  await pass()
  hub.publish(memory.appendSeveral(chat, 2).slice(1))
  answer()
  await pass(25)
  expect([listener.received, listener.ended]).toEqual([[1, 2, 3], []])
})
