import { expect, test, vi } from 'vitest'
import { quiet } from '../../support/scripted/index.ts'
import { connectionToTest } from '../../support/scripted/peer.ts'

const TOKEN_EXPIRED = { code: 109, message: 'token expired' }
const INTERNAL = { code: 100, message: 'internal server error', temporary: true }
const HOUR_MS = 3_600_000
/** Pauses are then half of what they may be at most. */
const withoutJitter = () => vi.spyOn(Math, 'random').mockReturnValue(0)

test('the token is refreshed on the open socket when it expires', async () => {
  const { opened, status, sockets, minted, provider, clock } = connectionToTest()
  const socket = await opened()
  await socket.accept({ expires: true, ttl: 86_400 })
  await clock.forward(86_399_000)
  provider.token = async () => 'second'
  await clock.forward(1_000)
  const { id, refresh } = socket.asked('refresh')
  expect([refresh, minted.length]).toEqual([{ token: 'second' }, 2])
  socket.say({ id, refresh: { expires: true, ttl: 60 } })
  await clock.forward(59_000)
  expect(socket.asked('refresh').id).toBe(id)
  await clock.forward(1_000)
  expect(socket.asked('refresh').id).toBeGreaterThan(id)
  expect([status(), sockets.length]).toEqual(['live', 1])
})

test('a failing or hanging token provider keeps the socket; the refresh is repeated', async () => {
  const { opened, status, sockets, provider, clock } = connectionToTest()
  const socket = await opened()
  await socket.accept({ expires: true, ttl: 86_400 })
  provider.token = () => Promise.reject(new Error('down'))
  await clock.forward(86_401_000)
  provider.token = () => new Promise(() => {})
  await clock.forward(20_000)
  expect(socket.commands.filter(({ refresh }) => refresh)).toEqual([])
  provider.token = async () => 'at last'
  const isAsked = () => socket.commands.some(({ refresh }) => refresh)
  for (let second = 0; second < 120 && !isAsked(); second++) await clock.forward(1_000)
  expect(socket.asked('refresh').refresh).toEqual({ token: 'at last' })
  socket.say({ id: socket.asked('refresh').id, refresh: {} })
  await clock.forward(HOUR_MS)
  expect([status(), sockets.length]).toEqual(['live', 1])
})

test('a failing token provider is asked again once each of its own pauses is over', async () => {
  withoutJitter()
  const { opened, provider, clock } = connectionToTest()
  const socket = await opened()
  await socket.accept({ expires: true, ttl: 86_400 })
  const asked: number[] = []
  provider.token = () => {
    asked.push(performance.now())
    return Promise.reject(new Error('down'))
  }
  await clock.forward(86_400_000)
  await clock.forward(130_000)
  // Each is twice the one before, up to half a minute.
  const pauses = asked.slice(1).map((time, index) => time - (asked[index] ?? 0))
  expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
})

test('a refresh that is refused for the moment is repeated after growing pauses', async () => {
  withoutJitter()
  const { opened, status, clock } = connectionToTest()
  const socket = await opened()
  await socket.accept({ expires: true, ttl: 60 })
  const asked: number[] = []
  const times: number[] = []
  for (let quarter = 0; quarter < 480; quarter++) {
    await clock.forward(250)
    const { id } = socket.commands.findLast(({ refresh }) => refresh) ?? {}
    if (id === undefined || asked.includes(id)) continue
    asked.push(id)
    times.push(performance.now())
    socket.say({ id, error: INTERNAL })
  }
  expect(status()).toBe('live')
  const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0))
  expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000])
})

test('a client that is disconnected during a refresh asks for no more tokens', async () => {
  const { opened, connection, provider, clock } = connectionToTest()
  const socket = await opened()
  await socket.accept({ expires: true, ttl: 86_400 })
  const asked: (() => void)[] = []
  provider.token = () =>
    new Promise((_, reject) => void asked.push(() => reject(new Error('down'))))
  await clock.forward(86_400_000)
  connection.disconnect()
  for (const fail of asked) fail()
  await clock.forward(HOUR_MS)
  expect([asked.length, clock.timers()]).toEqual([1, 0])
})

test('a client that is disconnected before it repeats a refresh keeps no timer', async () => {
  const { opened, connection, provider, clock } = connectionToTest()
  const socket = await opened()
  await socket.accept({ expires: true, ttl: 86_400 })
  provider.token = () => Promise.reject(new Error('down'))
  await clock.forward(86_400_000)
  expect(clock.timers()).toBeGreaterThan(0)
  connection.disconnect()
  expect(clock.timers()).toBe(0)
})

test('a token that is valid for months is not refreshed at once', async () => {
  const { opened, minted, clock } = connectionToTest()
  const socket = await opened()
  await socket.accept({ expires: true, ttl: 90 * 86_400 })
  await clock.forward(24 * HOUR_MS)
  expect([socket.commands.some(({ refresh }) => refresh), minted.length]).toEqual([false, 1])
})

test.each([
  [INTERNAL, 'live', 2],
  [TOKEN_EXPIRED, 'offline', 1],
])(
  'a refresh that is answered with %j leaves the client %s',
  async (error, expected, refreshes) => {
    withoutJitter()
    const { opened, status, clock } = connectionToTest()
    const socket = await opened()
    // A ttl of zero is left out, like every default.
    await socket.accept({ expires: true })
    await clock.forward(900)
    expect(socket.commands.filter(({ refresh }) => refresh)).toEqual([])
    await clock.forward(100)
    expect(socket.commands.filter(({ refresh }) => refresh)).toHaveLength(1)
    socket.say({ id: socket.asked('refresh').id, error })
    await quiet()
    expect(status()).toBe(expected)
    await clock.forward(249)
    expect(socket.commands.filter(({ refresh }) => refresh)).toHaveLength(1)
    await clock.forward(5_000)
    expect(socket.commands.filter(({ refresh }) => refresh)).toHaveLength(refreshes)
  },
)
