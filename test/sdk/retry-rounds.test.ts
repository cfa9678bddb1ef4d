import { createRetries } from '@parley/client/internal/calls/retry'
import { expect, test } from 'vitest'
import { stoppedClock } from '../support/scripted/time.ts'

test('calls that fail together count as one failure for the next pause', async () => {
  const { forward } = stoppedClock()
  let tries = 0
  const retries = createRetries(() => {
    tries += 1
  })
  for (let call = 0; call < 3; call++) retries.later()
  await forward(500)
  expect(tries).toBe(1)
  retries.later()
  await forward(1_000)
  expect(tries).toBe(2)
})
