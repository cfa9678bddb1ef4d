import { EventEmitter } from 'node:events'
import type { RedisConnection } from '@parley/server/core/redis'
import { createRedisSubscriptions } from '@parley/server/realtime/redis-subscriptions'
import { expect, test, vi } from 'vitest'
import { quiet } from '../../support/scripted/index.ts'

/** A Redis that answers when it is told to. */
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
  const onListening = vi.fn(() => [...subscribed].sort())
  const subscriptions = createRedisSubscriptions({
    // As much of one as is used.
    connect: () => ({ client, isCluster: false, close: () => {} }) as unknown as RedisConnection,
    everyone: 'everyone',
    channelOf: (topic) => `topic ${topic}`,
    onPayload: () => {},
    onListening,
    onLate: () => {},
    onFailed: () => {},
  })
  const answer = async () => {
    for (const next of answers.splice(0)) next()
    await quiet()
  }
  return { ...subscriptions, client, subscribed, answer, onListening }
}

test('what is followed while a connection subscribes is complete before it listens', async () => {
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
