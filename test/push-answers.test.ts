import { createProvider } from '@parley/server/jobs/push/provider'
import {
  createProviderCall,
  ProviderRefusedError,
  ProviderUnavailableError,
} from '@parley/server/jobs/push/provider-call'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { serveProvider } from './support/provider.ts'

let provider: Awaited<ReturnType<typeof serveProvider>>
beforeAll(async () => {
  provider = await serveProvider()
  // With its first call `fetch` starts a timer for all calls: it must not be one of a fake clock.
  await call()
})
afterAll(() => provider.stop())
beforeEach(() => void provider.forget())

const call = (options?: { timeoutMs: number }) =>
  createProviderCall(provider.settings)('GET', '/path', options)
const failure = async (attempt: Promise<unknown>) => {
  const [result] = await Promise.allSettled([attempt])
  return result?.status === 'rejected' ? result.reason : undefined
}

test.each([401, 403, 404, 408, 409, 429, 500, 502, 503])(
  'a provider that answers %i counts as unavailable',
  async (status) => {
    provider.behave(provider.answer(status))
    const error = await failure(call())
    expect(error).toBeInstanceOf(ProviderUnavailableError)
    expect(error).toMatchObject({ status, retryAfterSeconds: 0 })
  },
)

test.each([400, 413, 422])('%i is a refusal', async (status) => {
  provider.behave(provider.answer(status))
  expect(await failure(call())).toBeInstanceOf(ProviderRefusedError)
})

test.each([
  ['30', 30],
  ['86400', 600],
  ['soon', 0],
  ['-5', 0],
  [new Date(0).toUTCString(), 0],
])('Retry-After: %s means to wait %i seconds', async (header, seconds) => {
  provider.behave(provider.answer(503, { 'retry-after': header }))
  expect(await failure(call())).toMatchObject({ retryAfterSeconds: seconds })
})

test('Retry-After is read as a date too', async () => {
  const date = new Date(Date.now() + 120_000).toUTCString()
  provider.behave(provider.answer(503, { 'retry-after': date }))
  const { retryAfterSeconds } = await failure(call())
  expect(retryAfterSeconds).toBeGreaterThan(60)
  expect(retryAfterSeconds).toBeLessThanOrEqual(120)
})

test.each([
  ['ten seconds', undefined, 10_000],
  ['the time it was given', { timeoutMs: 50 }, 50],
])('a call that the provider does not answer is given up after %s', async (_, options, ms) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  provider.behave(() => {})
  let isOver = false
  const failed = failure(call(options)).finally(() => (isOver = true))
  while (provider.calls.length === 0) await new Promise(setImmediate)
  vi.advanceTimersByTime(ms - 1)
  await new Promise(setImmediate)
  expect(isOver).toBe(false)
  vi.advanceTimersByTime(1)
  expect(await failed).toBeInstanceOf(ProviderUnavailableError)
})

test('an endless answer of the provider is cut, and a success does not count', async () => {
  const chunk = 'x'.repeat(64 * 1024)
  const endless =
    (status: number): Parameters<typeof provider.behave>[0] =>
    (response) => {
      response.writeHead(status)
      const write = () => {
        while (!response.destroyed && response.write(chunk));
      }
      response.on('drain', write)
      write()
    }
  provider.behave(endless(400))
  expect(await failure(call())).toBeInstanceOf(ProviderRefusedError)
  provider.behave(endless(503))
  expect(await failure(call())).toMatchObject({ status: 503 })
  provider.behave(endless(201))
  const error = await failure(call())
  expect(error).toBeInstanceOf(ProviderUnavailableError)
  expect(error.message).toBe('GET /path answered 201 with more than 1048576 bytes')
})

test('a provider that does not listen is asked again', async () => {
  const settings = { ...provider.settings, apiUrl: 'http://127.0.0.1:2' }
  const error = await failure(createProviderCall(settings)('GET', '/path'))
  expect(error).toBeInstanceOf(ProviderUnavailableError)
  expect(error.cause).toMatchObject({ cause: { code: 'ECONNREFUSED' } })
})

test('the secret key does not follow a redirect', async () => {
  provider.behave((response, { path }) =>
    path === '/path'
      ? response.writeHead(307, { location: '/elsewhere' }).end()
      : response.writeHead(200).end('{}'),
  )
  expect(await failure(call())).toBeInstanceOf(ProviderUnavailableError)
  expect(provider.calls.map(({ path }) => path)).toEqual(['/path'])
})

test('removing a missing subscriber succeeds, and any other refusal is an error', async () => {
  const { removeSubscriber, setTokens, hasWorkflow } = createProvider(provider.settings)
  const { signal } = new AbortController()
  const removals = () => [
    removeSubscriber('a/b c', signal),
    setTokens('a/b c', { provider: 'apns', tokens: [], signal }),
  ]
  provider.behave(provider.answer(404))
  await Promise.all(removals())
  expect(provider.calls.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
    'DELETE /v1/subscribers/a%2Fb%20c/credentials/apns',
    'DELETE /v2/subscribers/a%2Fb%20c',
  ])
  expect(await hasWorkflow('mention')).toBe(false)
  provider.behave(provider.answer(401))
  const refused = await Promise.all([...removals(), hasWorkflow('mention')].map(failure))
  for (const error of refused) expect(error).toMatchObject({ status: 401 })
  provider.behave(provider.answer(422))
  expect(await failure(hasWorkflow('mention'))).toBeInstanceOf(ProviderRefusedError)
})
