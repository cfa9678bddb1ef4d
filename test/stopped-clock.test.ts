import { AsyncResource } from 'node:async_hooks'
import { withTimeout } from '@parley/server/core/with-timeout'
import { expect, test } from 'vitest'
import { stoppedClock } from './support/scripted/time.ts'

/** A timer of the server that begins another one whenever it fires. */
const goOn = (): void =>
  void withTimeout(100, undefined, (signal) => {
    signal.addEventListener('abort', goOn)
    return new Promise(() => {})
  })

test('a stopped clock counts the timers of its test, and none that go on elsewhere', async () => {
  const elsewhere = new AsyncResource('an earlier file')
  const clock = stoppedClock()
  elsewhere.runInAsyncScope(goOn)
  await clock.forward(150)
  expect(clock.timers()).toBe(0)
  goOn()
  await clock.forward(150)
  expect(clock.timers()).toBe(1)
})
