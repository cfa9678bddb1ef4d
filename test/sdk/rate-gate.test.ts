import type { CallOptions, TokenResult } from '@parley/client/api'
import { createDeferred } from '@parley/client/internal/shared/timing'
import { createChatServer } from '@parley/client/server'
import { expect, onTestFinished, test, vi } from 'vitest'
import { isOffline } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** How long calls wait, for the limit that another one met and for all that comes before them. */

const GET_USER = /^GET \/api\/users\//
const TOO_MANY = { code: 'RATE_LIMITED', message: 'too many calls' }
const limited = (seconds: number) =>
  Response.json({ error: TOO_MANY }, { status: 429, headers: { 'retry-after': `${seconds}` } })

test('a 429 that does not say how long stops all calls for a while, longer each time', async () => {
  const clock = stoppedClock()
  const { chat, intercept, count, refuseRequests } = scriptedChat()
  await chat.connect()
  intercept(GET_USER, () => new Response('<h1>an error page</h1>', { status: 429 }))
  const asked = () => {
    for (const userId of ['ana', 'ben', 'cem']) chat.api.users.get({ userId }).catch(() => {})
  }
  asked()
  await quiet()
  expect(count(GET_USER)).toBe(3)
  asked()
  await clock.forward(240)
  expect(count(GET_USER)).toBe(3)
  // The three that were refused together count as one.
  await clock.forward(460)
  expect(count(GET_USER)).toBeGreaterThan(3)
  for (let second = 0; second < 60; second++) {
    asked()
    await clock.forward(1_000)
  }
  expect(count(GET_USER)).toBeLessThan(80)
  refuseRequests()
  await clock.forward(30_000)
  expect(await chat.api.users.get({ userId: 'ana' })).toMatchObject({ id: 'ana' })
})

test('messages of a batch that are over the limit stop those of other channels', async () => {
  const clock = stoppedClock()
  const { chat, channel, hold, count, requests } = scriptedChat()
  for (const id of ['c', 'd']) channel(id)
  await chat.connect()
  const held = [hold(/c\/messages$/), hold(/c\/messages\/batch$/)]
  const sent = ['1', '2', '3'].map((text) => chat.channel('c').send({ text }).sent)
  await held[0]?.asked
  held[0]?.release()
  await held[1]?.asked
  const error = { ...TOO_MANY, retryAfterSeconds: 20 }
  held[1]?.release(Response.json({ results: [{ error }, { error }] }))
  await quiet()
  sent.push(chat.channel('d').send({ text: 'elsewhere' }).sent)
  requests.length = 0
  await clock.forward(19_900)
  expect(count(/messages/)).toBe(0)
  await clock.forward(4_000)
  await Promise.all(sent)
})

test('a bot over its limit of appends does not stop the other bots of its backend', async () => {
  const clock = stoppedClock()
  const asked: string[] = []
  const fetch = async (_url: string, { headers }: { headers: Record<string, string> }) => {
    const userId = headers['x-user-id'] ?? ''
    asked.push(userId)
    return userId === 'one' ? limited(9) : Response.json({ length: 1 })
  }
  const server = createChatServer({
    url: 'http://test',
    apiKey: 'pk_test',
    fetch: fetch as unknown as typeof globalThis.fetch, // as the client calls it
  })
  const [one, two] = [server.as('one'), server.as('two')]
  const part = { channelId: 'c', messageId: 'm', text: 'a', at: 0 }
  const refused = one.streams.append(part, { timeoutMs: 2_000 }).catch(() => 'refused')
  await quiet()
  void one.streams.append(part).catch(() => {})
  void two.streams.append(part).catch(() => {})
  await clock.forward(1)
  expect([await refused, asked]).toEqual(['refused', ['one', 'two']])
  // Other calls of a backend have a limit in common, whoever it acts as.
  void one.users.get({ userId: 'ana' }).catch(() => {})
  await quiet()
  void two.users.get({ userId: 'ana' }).catch(() => {})
  await quiet()
  expect(asked).toEqual(['one', 'two', 'one'])
})

test('channels that wait for the same limit do not make its pauses longer', async () => {
  const clock = stoppedClock()
  const { chat, channel, intercept, refuseRequests } = scriptedChat()
  const ids = Array.from({ length: 12 }, (_, index) => `c${index}`)
  for (const id of ids) channel(id)
  await chat.connect()
  let refusals = 0
  intercept(/\/messages$/, () => {
    refusals += 1
    return new Response('<h1>an error page</h1>', { status: 429 })
  })
  const sent = ids.map((id) => chat.channel(id).send({ text: id }).sent)
  const before = refusals
  while (refusals < before + ids.length + 1) await clock.forward(100)
  refuseRequests()
  let isDone = false
  void Promise.all(sent).then(() => {
    isDone = true
  })
  await clock.forward(8_000)
  expect(isDone).toBe(true)
})

test('a call ends in time although the token does not come, and is never sent', async () => {
  const clock = stoppedClock()
  const { promise, resolve } = createDeferred<TokenResult>()
  const { chat, requests } = scriptedChat({ token: () => promise })
  const failed: unknown[] = []
  const call = (options: CallOptions) =>
    void chat.api.users.get({ userId: 'ana' }, options).catch((error) => failed.push(error))
  const stop = new AbortController()
  call({ timeoutMs: 1_000 })
  call({ signal: stop.signal })
  await clock.forward(999)
  expect(failed).toEqual([])
  stop.abort()
  await clock.forward(1)
  expect(failed).toMatchObject([{ code: 'ABORTED' }, { code: 'TIMEOUT' }])
  resolve({
    token: 'late',
    wsToken: 'late',
    user: { id: 'me', name: 'ME', image: null },
    expiresIn: 86_400,
    appId: 'app',
    wsUrl: 'ws://chat',
  })
  await quiet()
  expect(requests).toEqual([])
})

test('a call that is aborted, or takes too long, holds up no other call', async () => {
  const clock = stoppedClock()
  const { scripted, count } = scriptedChat()
  const fetch = async (url: string, init: RequestInit = {}) => {
    if (!url.endsWith('/slow')) return scripted.fetch?.(url, init)
    return new Promise((_, reject) => {
      init.signal?.addEventListener('abort', () => reject(init.signal?.reason))
    })
  }
  const { chat } = scriptedChat({ fetch: fetch as typeof globalThis.fetch }) // as it is called
  await chat.connect()
  const codes: unknown[] = []
  const ask = (userId: string, options?: CallOptions) =>
    void chat.api.users.get({ userId }, options).catch(({ code }) => codes.push(code))
  const stop = new AbortController()
  ask('slow', { signal: stop.signal })
  ask('slow', { timeoutMs: 1_000 })
  await quiet()
  stop.abort()
  await quiet()
  ask('ana')
  await clock.forward(1_000)
  ask('ana')
  await quiet()
  expect([codes, count(GET_USER)]).toEqual([['ABORTED', 'TIMEOUT'], 2])
})

test('a call whose next attempt would come too late fails at once', async () => {
  const clock = stoppedClock()
  const { chat, intercept } = scriptedChat()
  await chat.connect()
  intercept(GET_USER, () => limited(7))
  const failed: unknown[] = []
  void chat.api.users
    .get({ userId: 'ana' }, { timeoutMs: 5_000 })
    .catch((error) => failed.push(error))
  await clock.forward(1)
  expect(failed).toMatchObject([{ code: 'RATE_LIMITED', retryAfterMs: 7_000 }])
})

test('a device that knows that it is offline tries a call once', async () => {
  vi.stubGlobal('navigator', { onLine: false })
  onTestFinished(() => void vi.unstubAllGlobals())
  const { chat, count, network } = scriptedChat()
  await chat.connect()
  network.isCut = true
  await expect(chat.api.users.get({ userId: 'ana' })).rejects.toMatchObject({
    code: 'NETWORK_ERROR',
  })
  expect(count(GET_USER)).toBe(1)
})

test('a device that says that it is offline sends while its socket works, not after', async () => {
  vi.stubGlobal('navigator', { onLine: false })
  onTestFinished(() => void vi.unstubAllGlobals())
  const { chat, channel, count, cut } = scriptedChat()
  channel('c')
  await chat.connect()
  const room = chat.channel('c')
  await room.send({ text: 'online' }).sent
  expect(count(/^POST .*\/messages$/)).toBe(1)
  cut()
  await isOffline(chat)
  expect(room.send({ text: 'waits' }).message.status).toBe('pending')
  await quiet()
  expect(count(/^POST .*\/messages$/)).toBe(1)
})

test('a call that was made before a refusal, and succeeds after it, ends no pause', async () => {
  const { chat, channel, hold, intercept, count } = scriptedChat()
  channel('c')
  const [channelId, offset] = ['c', 0]
  await chat.connect()
  const answer = hold(/\/members/)
  const early = chat.api.members.list({ channelId })
  await answer.asked
  intercept(/\/pins/, () => limited(60))
  await expect(chat.api.pins.list({ channelId, offset })).rejects.toMatchObject(TOO_MANY)
  answer.release()
  await early
  await expect(chat.api.pins.list({ channelId, offset })).rejects.toMatchObject(TOO_MANY)
  expect(count(/\/pins/)).toBe(1)
})
