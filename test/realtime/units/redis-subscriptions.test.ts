import { EventEmitter } from 'node:events'
import type { RedisConnection } from '@parley/server/core/redis'
import { createRedisSubscriptions } from '@parley/server/realtime/broker/redis-subscriptions'
import { expect, onTestFinished, test, vi } from 'vitest'
import { upTo } from '../../support/events.ts'
import { quiet } from '../../support/scripted/index.ts'

/** A Redis that answers when the test lets it. */
function subscriptionsToTest() {
  const subscribed = new Set<string>()
  const answers: (() => void)[] = []
  const change =
    (apply: (channel: string) => void) =>
    (...channels: string[]) =>
      new Promise<void>((resolve) => {
        answers.push(() => {
          for (const channel of channels) apply(channel)
          resolve()
        })
      })
  const client = Object.assign(new EventEmitter(), {
    subscribe: change((channel) => subscribed.add(channel)),
    unsubscribe: change((channel) => subscribed.delete(channel)),
  })
  const connect = vi.fn(() => ({ client, isCluster: false, close: () => {} }))
  const onListening = vi.fn(() => [...subscribed].sort())
  const onLate = vi.fn()
  const subscriptions = createRedisSubscriptions({
    connect: () => connect() as unknown as RedisConnection, // only the parts that are used
    everyone: 'everyone',
    channelOf: (topic) => `topic ${topic}`,
    onPayload: () => {},
    onListening,
    onLate,
    onFailed: () => {},
  })
  const answer = async () => {
    for (const next of answers.splice(0)) next()
    await quiet()
  }
  return { ...subscriptions, client, connect, subscribed, answer, onListening, onLate }
}

test('topics followed while a connection subscribes are subscribed before it listens', async () => {
  const { open, client, follow, unfollow, answer, onListening } = subscriptionsToTest()
  follow('before')
  follow('dropped')
  open()
  client.emit('ready')
  follow('meanwhile')
  unfollow('dropped')
  await answer()
  expect(onListening).not.toHaveBeenCalled()
  await answer()
  await answer()
  expect(onListening).toHaveReturnedWith(['everyone', 'topic before', 'topic meanwhile'])
})

test('a topic is subscribed to as long as one of its followers is left', async () => {
  const { open, client, follow, unfollow, answer, subscribed, size } = subscriptionsToTest()
  open()
  client.emit('ready')
  await answer()
  follow('talk')
  follow('talk')
  await quiet()
  await answer()
  unfollow('talk')
  await quiet()
  await answer()
  expect([...subscribed]).toEqual(['everyone', 'topic talk'])
  unfollow('talk')
  await quiet()
  await answer()
  expect([[...subscribed], size()]).toEqual([['everyone'], 0])
})

test('a connection that is lost listens no more until it has subscribed to all again', async () => {
  const { open, client, follow, answer, subscribed, isListening } = subscriptionsToTest()
  open()
  client.emit('ready')
  await answer()
  expect(isListening()).toBe(true)
  client.emit('close')
  expect(isListening()).toBe(false)
  subscribed.clear()
  follow('talk')
  await quiet()
  await answer()
  expect([...subscribed]).toEqual([])
  client.emit('ready')
  await answer()
  expect([[...subscribed], isListening()]).toEqual([['everyone', 'topic talk'], true])
})

test('thousands of topics are all subscribed to, at first and after a loss', async () => {
  const { open, client, follow, answer, subscribed, size } = subscriptionsToTest()
  const answerAll = async () => {
    for (const _ of upTo(4)) await answer()
  }
  open()
  client.emit('ready')
  await answerAll()
  for (const n of upTo(2_500)) follow(String(n))
  await quiet()
  await answerAll()
  expect([subscribed.size, size()]).toEqual([2_501, 2_500])
  client.emit('close')
  subscribed.clear()
  client.emit('ready')
  await answerAll()
  expect(subscribed.size).toBe(2_501)
})

test('a late subscription reports that notes of its topic may have been missed', async () => {
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  const { open, client, follow, answer, onLate } = subscriptionsToTest()
  open()
  client.emit('ready')
  await answer()
  const followFor = async (topic: string, milliseconds: number) => {
    follow(topic)
    await quiet()
    now += milliseconds
    await answer()
  }
  await followFor('quick', 1_000)
  expect(onLate).not.toHaveBeenCalled()
  await followFor('slow', 1_001)
  expect(onLate.mock.calls).toEqual([[1_001]])
})

test('an unanswered probe reports that notes of that server may have been missed', async () => {
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  const { open, client, follow, answer, probe, onLate } = subscriptionsToTest()
  let isSilent = false
  Object.assign(client, {
    slots: Array.from({ length: 16_384 }, () => ['a server']),
    sunsubscribe: async () => {
      if (isSilent) throw new Error('no answer')
      now += 100
    },
  })
  follow('talk')
  open()
  client.emit('ready')
  await answer()
  const probeAt = async (at: number) => {
    now = at
    await probe()
  }
  await probeAt(1_000)
  isSilent = true
  await probeAt(2_000)
  await probeAt(3_000)
  expect(onLate).not.toHaveBeenCalled()
  isSilent = false
  await probeAt(4_000)
  await probeAt(5_000)
  // Since the last question that was answered was asked.
  expect(onLate.mock.calls).toEqual([[3_100]])
})

test('notes may have been missed while a part of a cluster moved to other servers', async () => {
  const { open, client, answer, onLate } = subscriptionsToTest()
  open()
  client.emit('ready')
  await answer()
  expect(onLate).not.toHaveBeenCalled()
  client.emit('subscribersReady')
  expect(onLate).toHaveBeenCalledExactlyOnceWith(1_000)
})

test('a subscription is waited for a second at most, however slow Redis is', async () => {
  const { open, client, follow, answer, settled } = subscriptionsToTest()
  open()
  client.emit('ready')
  await answer()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  follow('talk')
  let isSettled = false
  const settling = settled()?.then(() => {
    isSettled = true
  })
  await vi.advanceTimersByTimeAsync(999)
  expect(isSettled).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(isSettled).toBe(true)
  await settling
})

test('a node that has stopped while Redis refused it connects no more', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { open, close, client, connect } = subscriptionsToTest()
  client.subscribe = () => Promise.reject(new Error('NOPERM'))
  open()
  client.emit('ready')
  await vi.advanceTimersByTimeAsync(10_000)
  // It connects again until it is stopped.
  expect(connect).toHaveBeenCalledTimes(2)
  client.emit('ready')
  await vi.advanceTimersByTimeAsync(0)
  close()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(connect).toHaveBeenCalledTimes(2)
})
