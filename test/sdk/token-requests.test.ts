import type { TokenResult } from '@parley/client'
import { Tokens } from '@parley/client/internal/realtime/tokens'
import { expect, onTestFinished, test } from 'vitest'
import { isOffline } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

const INVALID = { status: 401, code: 'INVALID_TOKEN' }
const HOUR_MS = 3_600_000

test('a token that is refused although it is new is not replaced again and again', async () => {
  const clock = stoppedClock()
  const { chat, minted, count, refuseRequests } = scriptedChat()
  await chat.connect()
  await clock.forward(11_000)
  refuseRequests(/users/, INVALID)
  for (let call = 1; call <= 5; call++)
    await expect(chat.api.users.get({ userId: 'ana' })).rejects.toMatchObject(INVALID)
  // The first call is repeated with a second token, which is as bad and too new to be replaced.
  expect([minted(), count(/users/)]).toEqual([2, 6])
  await clock.forward(11_000)
  await expect(chat.api.users.get({ userId: 'ana' })).rejects.toMatchObject(INVALID)
  expect([minted(), count(/users/)]).toEqual([3, 8])
})

test('a socket whose new token is refused reconnects with growing pauses', async () => {
  const clock = stoppedClock()
  const { chat, minted, network, cut } = scriptedChat()
  await chat.connect()
  await clock.forward(11_000)
  network.refusesTokens = true
  cut({ isCut: false })
  await isOffline(chat)
  await clock.forward(60_000)
  expect(network.opened).toBeGreaterThan(4)
  expect(network.opened).toBeLessThan(16)
  expect(minted()).toBeLessThan(8)
  network.refusesTokens = false
  await clock.forward(40_000)
  expect(chat.connection.getSnapshot().status).toBe('live')
})

test('calls that are refused together get one new token', async () => {
  const clock = stoppedClock()
  const { chat, minted, refuseRequests, hold } = scriptedChat()
  await chat.connect()
  await clock.forward(11_000)
  refuseRequests(/users/, INVALID)
  const held = [1, 2, 3].map(() => hold(/users/))
  const calls = [1, 2, 3].map(() => chat.api.users.get({ userId: 'ana' }))
  await Promise.all(held.map(({ asked }) => asked))
  refuseRequests()
  for (const { release } of held) {
    release()
    await quiet()
  }
  await Promise.all(calls)
  expect(minted()).toBe(2)
})

test('a token is renewed before it expires while connected, not after disconnect()', async () => {
  const clock = stoppedClock()
  const { chat, minted } = scriptedChat()
  await chat.connect()
  await clock.forward(19 * HOUR_MS)
  expect(minted()).toBe(1)
  await clock.forward(3 * HOUR_MS)
  expect(minted()).toBe(2)
  chat.disconnect()
  expect(clock.timers()).toBe(0)
  await clock.forward(30 * HOUR_MS)
  expect(minted()).toBe(2)
  await chat.api.users.get({ userId: 'ana' })
  expect([minted(), clock.timers()]).toEqual([3, 0])
})

const MINTED: TokenResult = {
  token: 'token',
  wsToken: 'socket',
  user: { id: 'me', name: 'Me', image: null },
  expiresIn: 1_000,
  appId: 'app',
  wsUrl: 'ws://chat',
}

test('a renewal that failed is tried again, and pauses begin again once one works', async () => {
  const clock = stoppedClock()
  let isDown = false
  let calls = 0
  const tokens = new Tokens(
    async () => {
      calls += 1
      if (isDown) throw new Error('down')
      return MINTED
    },
    () => {},
  )
  onTestFinished(() => tokens.halt())
  tokens.begin()
  for (const _ of ['first', 'second']) {
    isDown = false
    await clock.forward(61_000)
    await tokens.get()
    const before = calls
    isDown = true
    await clock.forward(999_000)
    expect(calls - before).toBeGreaterThan(5)
  }
})

test.each(['soon', -1, Number.NaN])(
  'a token that expires in %o seconds is none, and the provider is not asked in a loop',
  async (expiresIn) => {
    const clock = stoppedClock()
    let calls = 0
    const provide = () => {
      calls += 1
      return { ...MINTED, expiresIn: expiresIn as number } // a backend may answer anything
    }
    const { chat } = scriptedChat({ token: provide })
    const call = chat.api.users.get({ userId: 'ana' })
    await expect(call).rejects.toMatchObject({ code: 'TOKEN_PROVIDER_FAILED' })
    void chat.connect().catch(() => {})
    await clock.forward(60_000)
    expect(calls).toBeLessThan(12)
  },
)

test('a token of another app is not used, though its user has the same id', async () => {
  const clock = stoppedClock()
  const { scripted } = scriptedChat()
  let appId = 'app'
  const token = async () => ({ ...(await scripted.token()), appId })
  const { chat, count } = scriptedChat({ token })
  await chat.connect()
  chat.disconnect()
  appId = 'another'
  await clock.forward(25 * HOUR_MS)
  await expect(chat.api.users.get({ userId: 'ana' })).rejects.toMatchObject({
    code: 'TOKEN_PROVIDER_FAILED',
    message: expect.stringContaining('the token provider changed users'),
  })
  expect(count(/users/)).toBe(0)
})

test('a provider that does not answer has failed after half a minute', async () => {
  const clock = stoppedClock()
  const tokens = new Tokens(
    () => new Promise(() => {}),
    () => {},
  )
  const codes: string[] = []
  tokens.get().catch(({ code }) => codes.push(code))
  await clock.forward(29_000)
  expect(codes).toEqual([])
  await clock.forward(2_000)
  expect(codes).toEqual(['TOKEN_PROVIDER_FAILED'])
})

test('a token that was refused is not sent again while the provider fails', async () => {
  const clock = stoppedClock()
  const { scripted } = scriptedChat()
  let isDown = false
  const token = async () => {
    if (isDown) throw new Error('down')
    return scripted.token()
  }
  const { chat, count, refuseRequests } = scriptedChat({ token })
  await chat.connect()
  await clock.forward(11_000)
  isDown = true
  refuseRequests(/users/, INVALID)
  for (const _ of ['refused', 'not sent'])
    await expect(chat.api.users.get({ userId: 'ana' })).rejects.toMatchObject({
      code: 'TOKEN_PROVIDER_FAILED',
    })
  expect(count(/users/)).toBe(1)
})
