import { limits } from '@parley/contract'
import type { Admit } from '@parley/server/core/admission'
import { sha256 } from '@parley/server/core/hash'
import { createKeyUses } from '@parley/server/core/key-uses'
import { createRevocations } from '@parley/server/core/revocations'
import { createTokens } from '@parley/server/core/signed-tokens'
import type { Db } from '@parley/server/db/client'
import { createAuthenticate } from '@parley/server/http/authenticate'
import { createRateLimits } from '@parley/server/http/rate-limits'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ADMIN_KEY, SECRET } from './support/secrets.ts'
import { patient } from './support/until.ts'

const appId = '019c9b1d-22bb-7c3d-9d4e-5f6071829304'
const otherAppId = '019c9b1d-22bb-7c3d-9d4e-5f6071829305'
const apiKey = `pk_${'x'.repeat(32)}`

const later = () => performance.now() + 1_000

/**
 * Authentication on a database whose answers the test gives, in the order of the look-ups. The test
 * also moves the time for which look-ups are kept.
 */
async function onAnswers({ unknownKeys = 0 } = {}) {
  const skip = holdTime()
  const tokens = await createTokens([SECRET])
  const revocations = createRevocations()
  const answers: ((rows: object[]) => void)[] = []
  const use = () => new Promise<object[]>((resolve) => answers.push(resolve))
  const db = { use } as Pick<Db, 'use'> as Db // it only uses that
  const limited = createRateLimits({
    tokens: unknownKeys,
    messages: 0,
    requests: 0,
  })
  const admitted: object[] = []
  const admit: Admit = ({ until: _, ...caller }, work) => {
    admitted.push(caller)
    return work()
  }
  const elsewhere = { use: async () => [] } as Pick<Db, 'use'> as Db // apart from the look-ups
  const keyUses = createKeyUses(elsewhere)
  const log = { warn: () => {} }
  const options = { db, admit, tokens, adminKey: ADMIN_KEY, revocations, keyUses, log, ...limited }
  const authenticate = createAuthenticate(options)
  const signed = new Map<string, Promise<string>>()
  const sign = (generation: number, app: string) => {
    const claims = { appId: app, userId: 'ana', generation, isAdmin: false }
    const token = signed.get(`${app}:${generation}`) ?? tokens.sign('api', claims)
    signed.set(`${app}:${generation}`, token)
    return token
  }
  /** A token that was verified in an earlier call is looked up at once. */
  const call = async (generation: number, app = appId) => {
    const authorization = `Bearer ${await sign(generation, app)}`
    return authenticate('user', { authorization, ip: '192.0.2.1' }, later(), () => {})
  }
  const callWithKey = (text = apiKey, ip = '192.0.2.1') =>
    authenticate('key', { apiKey: text, ip }, later(), () => {})
  const lookUp = (number: number) => vi.waitUntil(() => answers[number - 1], patient)
  const lookUps = () => answers.length
  return { authenticate, call, callWithKey, lookUp, revocations, skip, lookUps, admitted }
}

function holdTime() {
  let now = performance.now()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })
  return function skip() {
    now += limits.revocationSeconds * 1000 + 1
    vi.advanceTimersByTime(limits.revocationSeconds * 1000 + 1)
  }
}

test('a value read while its token is revoked is not cached', async () => {
  const { call, lookUp, revocations } = await onAnswers()
  const early = call(0)
  const answer = await lookUp(1)
  revocations.publish({ appId, userId: 'ana' })
  answer([{ tokenGeneration: 0 }])
  await early
  const late = call(0)
  const answerAgain = await lookUp(2)
  answerAgain([{ tokenGeneration: 1 }])
  await expect(late).rejects.toMatchObject({ code: 'INVALID_TOKEN' })
})

test('calls at once share a look-up, but not one that began before a revocation', async () => {
  const { call, lookUp, lookUps, revocations } = await onAnswers()
  const early = [call(0)]
  const answer = await lookUp(1)
  early.push(call(0))
  await new Promise(setImmediate)
  expect(lookUps()).toBe(1)
  revocations.publish({ appId, userId: 'ana' })
  const late = call(0)
  const answerAgain = await lookUp(2)
  answer([{ tokenGeneration: 0 }])
  await Promise.all(early)
  answerAgain([{ tokenGeneration: 1 }])
  await expect(late).rejects.toMatchObject({ code: 'INVALID_TOKEN' })
  expect(lookUps()).toBe(2)
})

test('a cached generation of a user does not serve a namesake of another app', async () => {
  const { call, lookUp } = await onAnswers()
  const here = call(1)
  const answer = await lookUp(1)
  answer([{ tokenGeneration: 1 }])
  await here
  const there = call(1, otherAppId)
  const answerThere = await lookUp(2)
  answerThere([{ tokenGeneration: 2 }])
  await expect(there).rejects.toMatchObject({ code: 'INVALID_TOKEN' })
})

test('an older token than the one known is refused, and a newer one is looked up', async () => {
  const { call, lookUp } = await onAnswers()
  const older = call(3)
  const answer = await lookUp(1)
  answer([{ tokenGeneration: 4 }])
  await expect(older).rejects.toMatchObject({ code: 'INVALID_TOKEN' })
  const newer = call(5)
  const answerAgain = await lookUp(2)
  answerAgain([{ tokenGeneration: 5 }])
  expect(await newer).toMatchObject({ userId: 'ana' })
  await expect(call(4)).rejects.toMatchObject({ code: 'INVALID_TOKEN' })
})

test('a deleted API key is refused at once', async () => {
  const { callWithKey, lookUp, revocations } = await onAnswers()
  const first = callWithKey()
  const answer = await lookUp(1)
  answer([{ appId }])
  await first
  revocations.publish({ keyHash: sha256(apiKey) })
  const second = callWithKey()
  const answerAgain = await lookUp(2)
  answerAgain([])
  await expect(second).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
})

test('a bad API key is looked up again after a while', async () => {
  const { callWithKey, lookUp, lookUps, skip } = await onAnswers()
  const first = callWithKey()
  const answer = await lookUp(1)
  answer([])
  await expect(first).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
  await expect(callWithKey()).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
  expect(lookUps()).toBe(1)
  skip()
  const later = callWithKey()
  const answerLater = await lookUp(2)
  answerLater([{ appId }])
  expect(await later).toMatchObject({ appId, keyHash: sha256(apiKey) })
})

test("a deleted user's token is remembered, and does not affect other users' tokens", async () => {
  const { call, lookUp, lookUps, skip } = await onAnswers()
  const first = call(0)
  const answer = await lookUp(1)
  answer([])
  await expect(first).rejects.toMatchObject({ code: 'INVALID_TOKEN' })
  await expect(call(0)).rejects.toMatchObject({ code: 'INVALID_TOKEN' })
  expect(lookUps()).toBe(1)
  const reborn = call(1)
  const answerReborn = await lookUp(2)
  answerReborn([{ tokenGeneration: 1 }])
  expect(await reborn).toMatchObject({ userId: 'ana' })
  const namesake = call(0, otherAppId)
  const answerNamesake = await lookUp(3)
  answerNamesake([{ tokenGeneration: 0 }])
  expect(await namesake).toMatchObject({ appId: otherAppId })
  skip()
  void call(0).catch(() => {})
  await lookUp(4)
})

test('a deleted API key is no longer looked up without being counted', async () => {
  const { callWithKey, lookUp, lookUps, revocations, skip } = await onAnswers({ unknownKeys: 1 })
  const good = callWithKey()
  const answer = await lookUp(1)
  answer([{ appId }])
  await good
  revocations.publish({ keyHash: sha256(apiKey) })
  for (const number of [2, 3]) {
    const refused = callWithKey()
    const answerNone = await lookUp(number)
    answerNone([])
    await expect(refused).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
    skip()
  }
  const limited = expect(callWithKey()).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  // Only the list of all keys is read, and this key is not in it.
  const answerKeys = await lookUp(4)
  answerKeys([])
  await limited
  expect(lookUps()).toBe(4)
})

test('text that does not look like an API key is refused without a look-up', async () => {
  const { callWithKey, lookUps } = await onAnswers()
  for (const text of ['', 'pk_', `pk_${'x'.repeat(31)}`, `${apiKey}x`, `x${apiKey}`, ADMIN_KEY])
    await expect(callWithKey(text)).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
  expect(lookUps()).toBe(0)
})

test('look-ups of unknown API keys share one place in the pool, by network', async () => {
  const { callWithKey, lookUp, admitted, skip } = await onAnswers()
  const networks = ['192.0.2.1', '2001:db8::1', '2001:db8::2']
  const calls = networks.map((ip, index) =>
    callWithKey(`pk_${String(index).repeat(32)}`, ip).catch(() => {}),
  )
  for (const index of networks.keys()) (await lookUp(index + 1))([])
  await Promise.all(calls)
  expect(admitted).toEqual([
    { appId: 'unknown keys', userId: '192.0.2.1', isKeyLookUp: true },
    { appId: 'unknown keys', userId: '2001:db8:0:0', isKeyLookUp: true },
    { appId: 'unknown keys', userId: '2001:db8:0:0', isKeyLookUp: true },
  ])
  const first = callWithKey()
  ;(await lookUp(4))([{ appId }])
  await first
  skip()
  const later = callWithKey()
  ;(await lookUp(5))([{ appId }])
  await later
  expect(admitted.at(-1)).toEqual({ appId: sha256(apiKey), queue: 'calls', isKeyLookUp: true })
})

test('wrong admin keys are counted by network, and stop no good key', async () => {
  const { authenticate, callWithKey, lookUp } = await onAnswers({ unknownKeys: 2 })
  const callAs = (adminKey: string | undefined, ip: string) =>
    authenticate('admin', { adminKey, ip }, later(), () => {})
  const wrong = (ip: string) => callAs('wrong', ip)
  for (const _ of [1, 2, 3])
    await expect(callAs(undefined, '192.0.2.1')).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
  for (const _ of [1, 2])
    await expect(wrong('192.0.2.1')).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
  await expect(wrong('192.0.2.1')).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  await expect(wrong('192.0.2.2')).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
  expect(await callAs(ADMIN_KEY, '192.0.2.1')).toEqual({})
  const called = callWithKey()
  ;(await lookUp(1))([{ appId }])
  expect(await called).toMatchObject({ appId })
})
