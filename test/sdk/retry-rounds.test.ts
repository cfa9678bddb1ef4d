import { ChatError } from '@parley/client/api'
import { createGate, createRetries } from '@parley/client/internal/calls/retry'
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

test('what was tried again, or given up, is not tried again when a client is woken', async () => {
  const { forward } = stoppedClock()
  const gate = createGate()
  const error = new ChatError('cannot be reached', { code: 'NETWORK_ERROR' })
  const tried: string[] = []
  const retriesOf = (name: string) => createRetries(() => void tried.push(name))
  const [again, givenUp, waiting] = ['again', 'given up', 'waiting'].map(retriesOf)
  gate.fail(error)
  again?.later(error)
  givenUp?.later(error)
  givenUp?.end()
  await forward(1_000)
  waiting?.later(error)
  gate.reopen()
  await forward(1)
  expect(tried).toEqual(['again', 'waiting'])
})
