import type { TokenResult } from '@parley/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { chatOf, GROUP, isLive, isOffline } from '../support/chat.ts'
import { openClock } from '../support/clock.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

/** Sets the device's clock forward or back; timers are not affected. */
function turnClock(hours: number) {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hours * 3_600_000 })
  onTestFinished(() => void vi.useRealTimers())
}

test('a failing token provider is called with backoff until it works again', async () => {
  await world().users('eve')
  const clock = openClock()
  let isDown = true
  let calls = 0
  const { chat, mint } = await chatOf(world(), 'eve', { token: () => tokens() })
  const tokens = async () => {
    calls += 1
    if (isDown) throw new Error('down')
    return mint()
  }
  const connected = chat.connect()
  for (let second = 0; second < 600; second++) {
    await clock.forward(1_000)
    await expect(chat.api.users.list()).rejects.toMatchObject({
      code: 'TOKEN_PROVIDER_FAILED',
      retryable: true,
      retryAfterMs: expect.any(Number),
    })
  }
  expect(calls).toBeGreaterThan(10)
  expect(calls).toBeLessThan(30)
  expect(chat.connection.getSnapshot()).toMatchObject({
    status: 'offline',
    lastError: { code: 'TOKEN_PROVIDER_FAILED' },
    reconnectInMs: expect.any(Number),
  })
  const before = calls
  isDown = false
  const isOffline = () => chat.connection.getSnapshot().status === 'offline'
  for (let second = 0; second < 120 && isOffline(); second++) await clock.forward(1_000)
  await connected
  expect(calls).toBe(before + 1)
  expect((await chat.api.users.list()).users.map(({ id }) => id)).toContain('eve')
})

test('a revoked token is replaced by one provider call, and the socket reconnects', async () => {
  const [ana] = await world().users('ana', 'cem')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: ['cem'] })
  let minted = 0
  const tokens = (): Promise<TokenResult> => {
    minted += 1
    return mint()
  }
  const { chat, mint } = await chatOf(world(), 'cem', { token: () => tokens() })
  await chat.connect()
  expect(minted).toBe(1)
  const { now } = Date
  const later = vi.spyOn(Date, 'now').mockImplementation(() => now() + 60_000)
  onTestFinished(() => later.mockRestore())
  await world().backend.tokens.revoke({ userId: 'cem' })
  await vi.waitFor(async () => {
    await Promise.all(Array.from({ length: 5 }, () => chat.api.channels.get({ channelId })))
    expect(minted).toBe(2)
  }, 60_000)
  await isLive(chat)
})

test('a token that the server finds expired is replaced, and the socket reconnects', async () => {
  await world().users('ben')
  let minted = 0
  const { chat, proxy, mint } = await chatOf(world(), 'ben', { token: () => tokens() })
  const tokens = async () => {
    minted += 1
    return { ...(await mint()), expiresIn: 30 * 86_400 }
  }
  await chat.connect()
  turnClock(25)
  proxy.reset()
  await isOffline(chat)
  await isLive(chat)
  expect(minted).toBe(2)
})

test('setting the clock forward or back costs one token and delays no call', async () => {
  await world().users('ben')
  let minted = 0
  const { chat, mint } = await chatOf(world(), 'ben', { token: () => tokens() })
  const tokens = async () => {
    minted += 1
    if (minted === 2) throw new Error('down')
    return mint()
  }
  await chat.connect()
  turnClock(-2)
  await expect(chat.api.users.list()).rejects.toMatchObject({ code: 'TOKEN_PROVIDER_FAILED' })
  turnClock(-2)
  for (const _ of [1, 2, 3]) await chat.api.users.list()
  expect(minted).toBe(3)
  turnClock(3)
  for (const _ of [1, 2, 3]) await chat.api.users.list()
  expect(minted).toBe(3)
  turnClock(25)
  for (const _ of [1, 2, 3]) await chat.api.users.list()
  expect(minted).toBe(4)
})

test('a token for another user is never used', async () => {
  await world().users('ben', 'eve')
  const { chat, mint } = await chatOf(world(), 'ben', { token: () => tokens() })
  let tokens = mint
  await chat.connect()
  tokens = async () => ({
    ...(await mint()),
    ...(await world().backend.tokens.create({ userId: 'eve' })),
  })
  turnClock(25)
  for (const _ of [1, 2])
    await expect(chat.api.users.get({ userId: 'ben' })).rejects.toMatchObject({
      code: 'TOKEN_PROVIDER_FAILED',
    })
  turnClock(1)
  await expect(chat.api.users.get({ userId: 'ben' })).rejects.toMatchObject({
    code: 'TOKEN_PROVIDER_FAILED',
    message: expect.stringContaining('the token provider changed users'),
  })
  expect(chat.me.getSnapshot()?.id).toBe('ben')
})
