import { ChatError } from '@parley/client'
import { Connection } from '@parley/client/internal/realtime/connection'
import { Tokens } from '@parley/client/internal/realtime/tokens'
import { expect, onTestFinished, test } from 'vitest'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

const SYNC = /^POST \/api\/sync$/

test('a client that disconnects while it catches up tries no more and stays offline', async () => {
  const clock = stoppedClock()
  const { scripted } = scriptedChat()
  let asked = 0
  const connection = new Connection({
    tokens: new Tokens(scripted.token, () => {}),
    webSocket: scripted.webSocket,
    fetch: undefined,
    onConnected: () => {},
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

test('a catch-up that has failed asks for nothing while the client is offline', async () => {
  const clock = stoppedClock()
  const { chat, cut, count, refuseRequests } = scriptedChat()
  await chat.connect()
  refuseRequests(SYNC)
  chat.channel('00000000-0000-4000-8000-000000000001').info.subscribe(() => {})
  for (let second = 0; second < 5; second++) await clock.forward(1_000)
  const before = count(SYNC)
  expect(before).toBeGreaterThan(1)
  cut()
  await quiet()
  // A request that is made since is not sent either.
  chat.channel('00000000-0000-4000-8000-000000000002').info.subscribe(() => {})
  for (let second = 0; second < 60; second++) await clock.forward(1_000)
  expect(count(SYNC)).toBe(before)
})

test('a jump to the latest messages says at once that there is no network', async () => {
  const clock = stoppedClock()
  const { chat, channel, cut } = scriptedChat()
  channel('c').send('hello')
  await chat.connect()
  const { messages } = chat.channel('c')
  messages.subscribe(() => {})
  await clock.forward(10)
  expect(messages.getSnapshot().status).toBe('ready')
  cut()
  await quiet()
  const failed = messages.jumpToLatest().catch(({ code }) => code)
  for (let second = 0; second < 20; second++) await clock.forward(1_000)
  expect(await Promise.race([failed, 'nothing'])).toBe('NETWORK_ERROR')
})

test('connect() rejects once the application disconnects before the client is live', async () => {
  const { chat, cut } = scriptedChat()
  cut()
  const outcome = chat.connect().catch(({ code }) => code)
  await quiet()
  chat.disconnect()
  await quiet()
  expect(await Promise.race([outcome, 'nothing'])).toBe('ABORTED')
})

test('a page without lists asks for the total again after growing pauses', async () => {
  const clock = stoppedClock()
  const { chat, data, count, refuseRequests } = scriptedChat()
  refuseRequests(SYNC)
  chat.connect().catch(() => {})
  for (let second = 0; second < 60; second++) await clock.forward(1_000)
  expect(count(SYNC)).toBeGreaterThan(4)
  expect(count(SYNC)).toBeLessThan(12)
  data.total = 7
  refuseRequests()
  await clock.forward(60_000)
  expect(chat.unread.getSnapshot().total).toBe(7)
})
