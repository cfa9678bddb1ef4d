import { ChatError, createApi, isChatError } from '@parley/client/api'
import { createChatServer } from '@parley/client/server'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { stoppedClock } from '../support/scripted/time.ts'

/** A server that gives these answers, the last one again and again, and the requests it got. */
function answering(...answers: (() => Response)[]) {
  const requests: string[] = []
  const fetch = async (input: string | URL | Request) => {
    requests.push(String(input))
    const answer = answers.length > 1 ? answers.shift() : answers[0]
    return answer?.() ?? Response.json({})
  }
  return { requests, server: createChatServer({ url: 'http://test', apiKey: 'pk_test', fetch }) }
}
const fine = () => Response.json({ users: [] })
const refused = (status: number, code: string, headers: Record<string, string> = {}) =>
  Response.json({ error: { code, message: 'as the test wants' } }, { status, headers })

const failure = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  )

/** Pauses between attempts are as long as they can be, and take no time. */
let clock: ReturnType<typeof stoppedClock>
beforeEach(() => {
  clock = stoppedClock()
  const random = vi.spyOn(Math, 'random').mockReturnValue(1)
  onTestFinished(() => random.mockRestore())
})

test.each([
  ['the server', () => refused(503, 'UNAVAILABLE')],
  ['a proxy', () => new Response('<h1>Service unavailable</h1>', { status: 503 })],
])(
  'a call is tried four times while %s says unavailable, with doubled pauses',
  async (_, answer) => {
    const { requests, server } = answering(answer)
    const failed = failure(server.users.list())
    await vi.advanceTimersByTimeAsync(0)
    for (const [index, pause] of [300, 600, 1_200].entries()) {
      await vi.advanceTimersByTimeAsync(pause - 1)
      expect(requests).toHaveLength(index + 1)
      await vi.advanceTimersByTimeAsync(1)
      expect(requests).toHaveLength(index + 2)
    }
    await vi.advanceTimersByTimeAsync(60_000)
    expect(requests).toHaveLength(4)
    expect(await failed).toMatchObject({ code: 'UNAVAILABLE', status: 503 })
  },
)

test('a call is tried again when Retry-After is over', async () => {
  const limited = () => refused(429, 'RATE_LIMITED', { 'retry-after': '7' })
  const { requests, server } = answering(limited, fine)
  const called = server.users.list()
  await vi.advanceTimersByTimeAsync(6_999)
  expect(requests).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(await called).toEqual({ users: [] })
})

test('a call does not wait for more than ten seconds', async () => {
  const { requests, server } = answering(() =>
    refused(429, 'RATE_LIMITED', { 'retry-after': '11' }),
  )
  const failed = failure(server.users.list())
  await vi.advanceTimersByTimeAsync(60_000)
  expect(requests).toHaveLength(1)
  const expected = { code: 'RATE_LIMITED', retryAfterMs: 11_000, retryable: true }
  expect(await failed).toMatchObject(expected)
})

test('a backend that has lost one connection sends its other calls at once', async () => {
  const lost = () => {
    throw new TypeError('lost')
  }
  const { requests, server } = answering(lost, fine)
  const calls = [server.users.list()]
  await vi.advanceTimersByTimeAsync(0)
  calls.push(server.users.list())
  await vi.advanceTimersByTimeAsync(0)
  expect(requests).toHaveLength(2)
  await vi.advanceTimersByTimeAsync(300)
  expect(await Promise.all(calls)).toHaveLength(2)
})

test('a call that waits for its next attempt can be aborted', async () => {
  const { requests, server } = answering(() => refused(503, 'UNAVAILABLE'))
  const stop = new AbortController()
  const failed = failure(server.users.list({}, { signal: stop.signal }))
  await vi.advanceTimersByTimeAsync(100)
  stop.abort()
  expect(await failed).toMatchObject({ code: 'ABORTED', retryable: false })
  expect(clock.timers()).toBe(0)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(requests).toHaveLength(1)
})

test('a call that gets no answer says whether it was aborted, late or lost', async () => {
  const silent = (_: unknown, init?: RequestInit) =>
    new Promise<never>((_, reject) => {
      const abort = () => reject(init?.signal?.reason)
      if (init?.signal?.aborted) abort()
      init?.signal?.addEventListener('abort', abort)
    })
  const api = createApi({ url: 'http://test', fetch: silent })
  const late = failure(api.service.live({}, { timeoutMs: 5 }))
  await vi.advanceTimersByTimeAsync(5)
  expect(await late).toMatchObject({ code: 'TIMEOUT' })
  const stop = new AbortController()
  const aborted = failure(api.service.live({}, { signal: stop.signal }))
  stop.abort()
  expect(await aborted).toMatchObject({ code: 'ABORTED', status: 0 })
  const lost = createApi({ url: 'http://test', fetch: () => Promise.reject(new Error('lost')) })
  expect(await failure(lost.service.live())).toMatchObject({ code: 'NETWORK_ERROR', status: 0 })
})

test('an import sends all records, and says whether it was refused, aborted or lost', async () => {
  const importWith = (fetch: typeof globalThis.fetch, signal?: AbortSignal) =>
    createChatServer({ url: 'http://test/', apiKey: 'pk_test', fetch }).imports.run(
      [
        { record: 'user', id: 'ana' },
        { record: 'user', id: 'ben' },
      ],
      signal && { signal },
    )
  const sent: string[] = []
  await importWith(async (url, request) => {
    sent.push(String(url), await new Response(request?.body).text())
    return Response.json({ lines: 2 })
  })
  const lines = '{"record":"user","id":"ana"}\n{"record":"user","id":"ben"}\n'
  expect(sent).toEqual(['http://test/import', lines])
  const forbidden = importWith(async () => refused(403, 'FORBIDDEN'))
  expect(await failure(forbidden)).toMatchObject({ code: 'FORBIDDEN', status: 403 })
  const lose = () => Promise.reject(new Error('lost'))
  expect(await failure(importWith(lose, AbortSignal.abort()))).toMatchObject({ code: 'ABORTED' })
  expect(await failure(importWith(lose))).toMatchObject({ code: 'NETWORK_ERROR' })
})

test('an import keeps the order of records, text and bytes', async () => {
  const line = (id: string) => `{"record":"user","id":"${id}"}\n`
  const source = async function* () {
    yield { record: 'user' as const, id: 'ana' }
    yield Buffer.from(line('ben'))
    yield { record: 'user' as const, id: 'cem' }
    yield line('dora')
  }
  const sent: string[] = []
  const fetch: typeof globalThis.fetch = async (_, request) => {
    sent.push(await new Response(request?.body).text())
    return Response.json({ lines: 4 })
  }
  await createChatServer({ url: 'http://test', apiKey: 'pk_test', fetch }).imports.run(source())
  expect(sent.join()).toBe(['ana', 'ben', 'cem', 'dora'].map(line).join(''))
})

test.each([
  [404, { code: 'NOT_FOUND', status: 404 }],
  [200, { code: 'NETWORK_ERROR', status: 0 }],
])(
  'a page with status %i in place of JSON is reported as a doubtful url',
  async (status, error) => {
    const { server } = answering(() => new Response('<h1>Welcome</h1>', { status }))
    const failed = failure(server.users.list())
    await vi.advanceTimersByTimeAsync(60_000)
    const message = expect.stringContaining('is the url right?')
    expect(await failed).toMatchObject({ ...error, message })
  },
)

test('addresses are joined without doubled slashes, and what callers give is escaped', async () => {
  const requested: string[] = []
  const api = createApi({
    url: 'http://test//',
    fetch: async (input) => {
      requested.push(String(input))
      return Response.json({})
    },
  })
  await api.users.get({ userId: 'a/b?c#d' })
  await api.users.list({ q: 'a&b=c', limit: undefined } as never)
  await api.users.list({ q: 'an ana', ids: ['ana', 'ben'], limit: 5 })
  await api.reactions.remove({ channelId: 'c', messageId: 'm', emoji: '👍/%' })
  expect(requested).toEqual([
    'http://test/api/users/a%2Fb%3Fc%23d',
    'http://test/api/users?q=a%26b%3Dc',
    'http://test/api/users?q=an%20ana&ids=ana%2Cben&limit=5',
    'http://test/api/channels/c/messages/m/reactions/%F0%9F%91%8D%2F%25',
  ])
})

test('queries are whole without URLSearchParams, which React Native has in part', async () => {
  const { requests, server } = answering(fine)
  vi.stubGlobal('URLSearchParams', class {})
  onTestFinished(() => void vi.unstubAllGlobals())
  await server.users.list({ limit: 50, offset: 100, q: 'an' })
  expect(requests).toEqual(['http://test/api/users?limit=50&offset=100&q=an'])
})

test('half of an emoji in a search or a reaction is sent as an unknown character', async () => {
  const { requests, server } = answering(fine)
  await server.users.list({ q: '\ud83d' })
  await server.as('ana').reactions.remove({ channelId: 'c', messageId: 'm', emoji: '\ud83d' })
  expect(requests).toEqual([
    'http://test/api/users?q=%EF%BF%BD',
    'http://test/api/channels/c/messages/m/reactions/%EF%BF%BD',
  ])
})

test('an error says whether the same call may succeed later', () => {
  const codes = ['NETWORK_ERROR', 'TIMEOUT', 'TOKEN_PROVIDER_FAILED'] as const
  const busy = ['RATE_LIMITED', 'UNAVAILABLE', 'INTERNAL_ERROR'] as const
  const final = ['ABORTED', 'FORBIDDEN', 'NOT_FOUND', 'VALIDATION_ERROR', 'INVALID_TOKEN'] as const
  const retryable = (code: (typeof codes | typeof busy | typeof final)[number]) =>
    new ChatError('', { code }).retryable
  expect([...codes, ...busy].filter((code) => !retryable(code))).toEqual([])
  expect(final.filter(retryable)).toEqual([])
  const error = new ChatError('', { code: 'FORBIDDEN' })
  expect(isChatError(error)).toBe(true)
  expect(isChatError(error, 'FORBIDDEN')).toBe(true)
  expect(isChatError(error, 'NOT_FOUND')).toBe(false)
  expect(isChatError(new Error('FORBIDDEN'))).toBe(false)
})

test('an import that the server ends early stops reading its source', async () => {
  let isRead = true
  async function* source() {
    try {
      for (;;) yield '{}\n'
    } finally {
      isRead = false
    }
  }
  const refuse = async (_url: unknown, { body }: RequestInit = {}) => {
    const reader = (body as ReadableStream).getReader() // as the client makes it
    await reader.read()
    await reader.cancel()
    return Response.json({ error: { code: 'FORBIDDEN', message: 'no' } }, { status: 403 })
  }
  const server = createChatServer({ url: 'http://chat', apiKey: 'key', fetch: refuse })
  await expect(server.imports.run(source())).rejects.toMatchObject({ code: 'FORBIDDEN' })
  expect(isRead).toBe(false)
})
