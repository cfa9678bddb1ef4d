import { ChatError } from '@parley/client'
import { Connection } from '@parley/client/internal/connection'
import { Tokens } from '@parley/client/internal/tokens'
import { expect, onTestFinished, test } from 'vitest'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

test('a client that disconnects while it catches up tries no more and stays offline', async () => {
  const clock = stoppedClock()
  const { scripted } = scriptedChat()
  let asked = 0
  const connection = new Connection({
    tokens: new Tokens(scripted.token, () => {}),
    webSocket: scripted.webSocket,
    fetch: undefined,
    catchUp: async () => {
      asked += 1
      throw new ChatError('away', { code: 'UNAVAILABLE', status: 503 })
    },
    onError: () => {},
  })
  onTestFinished(() => connection.disconnect())
  connection.connect().catch(() => {})
  await quiet()
  for (let second = 0; second < 5; second++) await clock.forward(1_000)
  expect(asked).toBeGreaterThan(1)
  const before = asked
  connection.disconnect()
  expect(clock.timers()).toBe(0)
  await clock.forward(60_000)
  expect([asked, connection.state.getSnapshot().status]).toEqual([before, 'offline'])
})
