import { expect, test } from 'vitest'
import { isOffline } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

const HOUR_MS = 3_600_000

test('reads are reported half a second later although the clock was set back', async () => {
  const clock = stoppedClock()
  const { chat, channel, count } = scriptedChat()
  channel('c').send('hello')
  await chat.connect()
  const room = chat.channel('c')
  await room.markRead()
  clock.set(-HOUR_MS)
  let isDone = false
  void room.markRead().then(() => {
    isDone = true
  })
  await clock.forward(400)
  expect([isDone, count(/\/read$/)]).toEqual([false, 1])
  await clock.forward(100)
  expect([isDone, count(/\/read$/)]).toEqual([true, 2])
})

test('typing is reported every 3 seconds, from the first moment, with any clock', async () => {
  const clock = stoppedClock()
  const { chat, channel, count } = scriptedChat()
  channel('c')
  await chat.connect()
  const room = chat.channel('c')
  const type = async (ms: number) => {
    await clock.forward(ms)
    room.keystroke()
    await quiet()
    return count(/\/typing$/)
  }
  expect(await type(0)).toBe(1)
  clock.set(-HOUR_MS)
  expect([await type(2_900), await type(100), await type(2_999)]).toEqual([1, 2, 2])
  clock.set(HOUR_MS)
  expect(await type(0)).toBe(2)
  await clock.forward(4_999)
  expect(count(/\/typing$/)).toBe(2)
  await clock.forward(1)
  expect(count(/\/typing$/)).toBe(3)
  await clock.forward(60_000)
  expect(count(/\/typing$/)).toBe(3)
})

test('a connection that lasts a second does not reset the backoff', async () => {
  const clock = stoppedClock()
  const { chat, cut, mend } = scriptedChat()
  await chat.connect()
  cut()
  await clock.forward(120_000)
  mend()
  while (chat.connection.getSnapshot().status !== 'live') await clock.forward(500)
  await clock.forward(1_000)
  cut()
  await isOffline(chat)
  expect(chat.connection.getSnapshot().reconnectInMs).toBeGreaterThanOrEqual(15_000)
})

test('a stable connection resets the backoff although the clock was set back', async () => {
  const clock = stoppedClock()
  const { chat, cut, mend } = scriptedChat()
  await chat.connect()
  cut()
  await clock.forward(120_000)
  expect(chat.connection.getSnapshot().status).toBe('offline')
  mend()
  await clock.forward(40_000)
  expect(chat.connection.getSnapshot().status).toBe('live')
  clock.set(-HOUR_MS)
  await clock.forward(6_000)
  cut()
  await isOffline(chat)
  expect(chat.connection.getSnapshot().reconnectInMs).toBeLessThanOrEqual(500)
})
