import { createListenerWatch } from '@parley/server/realtime/broker/listener-watch'
import { expect, test } from 'vitest'
import { stoppedClock } from '../../support/scripted/time.ts'

test('the lag is that of the last beat, or how long the oldest one is under way', async () => {
  const clock = stoppedClock()
  const watch = createListenerWatch(5_000)
  watch.sent()
  await clock.forward(2_000)
  // A note other than a beat says nothing about when beats arrive.
  watch.received(false)
  watch.sent()
  await clock.forward(1_000)
  expect(watch.lagSeconds()).toBe(3)
  watch.received(true)
  watch.received(true)
  expect(watch.lagSeconds()).toBe(1)
  await clock.forward(10_000)
  expect(watch.lagSeconds()).toBe(1)
})

test('beats that were not sent, or were lost with a connection, are not waited for', async () => {
  const clock = stoppedClock()
  const watch = createListenerWatch(5_000)
  const failed = watch.sent()
  await clock.forward(1_000)
  watch.sent()
  await clock.forward(1_000)
  failed()
  expect(watch.lagSeconds()).toBe(1)
  watch.restarted()
  expect(watch.lagSeconds()).toBe(0)
})

test('a listener is up once a note has arrived, and until none has for too long', async () => {
  const clock = stoppedClock()
  const watch = createListenerWatch(5_000)
  expect(watch.isUp()).toBe(false)
  watch.received(false)
  await clock.forward(5_000)
  expect(watch.isUp()).toBe(true)
  await clock.forward(1)
  expect(watch.isUp()).toBe(false)
})
