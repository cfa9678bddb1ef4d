import { ChatError, createApi } from '@parley/client/api'
import { pauseBeforeRetry, statusOf } from '@parley/client/internal/calls/retry'
import { errorStatus } from '@parley/contract'
import { expect, test } from 'vitest'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

const GET_USER = /^GET \/api\/users\//
const html = (status: number, headers: Record<string, string> = {}) =>
  new Response('<h1>an error page</h1>', { status, headers })
const limited = (seconds: number) =>
  Response.json(
    { error: { code: 'RATE_LIMITED', message: 'too many calls' } },
    { status: 429, headers: { 'retry-after': `${seconds}` } },
  )
/** The error of a plain call that gets this answer. */
const errorOf = (answer: Response) =>
  createApi({ url: 'http://test', fetch: async () => answer })
    .service.live()
    .then(
      () => undefined,
      (error: unknown) => error,
    )

test.each([
  [400, 'VALIDATION_ERROR', false],
  [401, 'FORBIDDEN', false],
  [403, 'FORBIDDEN', false],
  [404, 'NOT_FOUND', false],
  [405, 'METHOD_NOT_ALLOWED', false],
  [408, 'UNAVAILABLE', true],
  [409, 'CONFLICT', false],
  [413, 'PAYLOAD_TOO_LARGE', false],
  [425, 'UNAVAILABLE', true],
  [429, 'RATE_LIMITED', true],
  [451, 'VALIDATION_ERROR', false],
  [500, 'INTERNAL_ERROR', true],
  [502, 'UNAVAILABLE', true],
  [503, 'UNAVAILABLE', true],
  [504, 'UNAVAILABLE', true],
  [520, 'UNAVAILABLE', true],
])(
  'the page of a proxy with status %i means %s, retryable: %s',
  async (status, code, retryable) => {
    const pages = [
      html(status),
      Response.json({ error: 'no' }, { status }),
      Response.json({ error: { code: status } }, { status }),
      Response.json({ error: { code: 'ServerBusy', message: 'try later' } }, { status }),
      Response.json(null, { status }),
    ]
    for (const page of pages) expect(await errorOf(page)).toMatchObject({ code, status, retryable })
    const own = { error: { code: 'NOT_FOUND', message: 'no such thing' } }
    expect(await errorOf(Response.json(own, { status }))).toMatchObject(own.error)
  },
)

test('an error of a newer server has its message, and means what its status says', async () => {
  const error = { code: 'CHANNEL_ARCHIVED', message: 'The channel is archived' }
  const newer = await errorOf(Response.json({ error }, { status: 409 }))
  expect(newer).toMatchObject({ ...error, code: 'CONFLICT' })
})

test('the client knows the codes of the contract, and their statuses', async () => {
  for (const [code, status] of Object.entries(errorStatus)) {
    const answer = Response.json({ error: { code, message: 'as it is' } }, { status: 599 })
    expect(await errorOf(answer)).toMatchObject({ code, message: 'as it is' })
    expect(statusOf(code as keyof typeof errorStatus)).toBe(status)
  }
})

test.each([
  ['7', 7_000],
  ['0', 0],
  ['-5', 0],
  ['31536000', 300_000],
  ['Infinity', 300_000],
  ['soon', undefined],
  ['Fri, 02 Jan 2026 00:00:30 GMT', 30_000],
  ['Thu, 01 Jan 2026 00:00:00 GMT', 0],
  ['Sat, 03 Jan 2026 00:00:00 GMT', 300_000],
])('Retry-After: %s is a pause of %s ms', async (value, retryAfterMs) => {
  stoppedClock() // at 2026-01-02
  expect(await errorOf(html(503, { 'retry-after': value }))).toMatchObject({ retryAfterMs })
})

test('a date in Retry-After is read by the clock of the server', async () => {
  stoppedClock()
  const headers = {
    'retry-after': 'Fri, 02 Jan 2026 02:00:40 GMT',
    date: 'Fri, 02 Jan 2026 02:00:00 GMT',
  }
  expect(await errorOf(html(503, headers))).toMatchObject({ retryAfterMs: 40_000 })
})

test.each([408, 425, 502, 503, 504])('a read is repeated after a %i of a proxy', async (status) => {
  const { chat, intercept, count, refuseRequests } = scriptedChat()
  await chat.connect()
  intercept(GET_USER, () => html(status))
  const clock = stoppedClock()
  const read = chat.api.users.get({ userId: 'ana' })
  await clock.forward(100)
  refuseRequests()
  await clock.forward(300)
  expect(await read).toMatchObject({ id: 'ana' })
  expect(count(GET_USER)).toBe(2)
})

test('after a 429 all calls of the client wait until its pause is over', async () => {
  const clock = stoppedClock()
  const { chat, intercept, requests, refuseRequests } = scriptedChat()
  await chat.connect()
  intercept(GET_USER, () => limited(7))
  requests.length = 0
  const calls = [chat.api.users.get({ userId: 'ana' })]
  await quiet()
  refuseRequests()
  const noEffect = ['ben', 'cem', 'dora'].map((userId) => chat.api.users.get({ userId }))
  const effect = chat.api.channels.create({ type: 'group', name: 'Talk' }).catch(() => 'asked')
  await clock.forward(6_900)
  expect(requests).toEqual(['GET /api/users/ana'])
  await clock.forward(800)
  // The creation gets no answer here, and others may wait for the pause after that.
  await clock.forward(1_000)
  await Promise.all([...calls, ...noEffect])
  expect(requests.toSorted()).toEqual([
    'GET /api/users/ana',
    'GET /api/users/ana',
    'GET /api/users/ben',
    'GET /api/users/cem',
    'GET /api/users/dora',
    'POST /api/channels',
  ])
  expect(await effect).toBeDefined()
})

test('after a 503 only the call that got it waits', async () => {
  const clock = stoppedClock()
  const { chat, intercept, refuseRequests } = scriptedChat()
  await chat.connect()
  intercept(GET_USER, () => html(503, { 'retry-after': '7' }))
  const first = chat.api.users.get({ userId: 'ana' })
  await quiet()
  refuseRequests()
  const answered: string[] = []
  void chat.api.users.get({ userId: 'ben' }).then(({ id }) => answered.push(id))
  await clock.forward(1)
  expect(answered).toEqual(['ben'])
  await clock.forward(7_700)
  expect(await first).toMatchObject({ id: 'ana' })
})

test('a refusal that is not about the token gets no new one', async () => {
  const clock = stoppedClock()
  const { chat, intercept, minted } = scriptedChat()
  await chat.connect()
  await clock.forward(60_000)
  intercept(GET_USER, () => html(404))
  await expect(chat.api.users.get({ userId: 'ana' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect(minted()).toBe(1)
})

test.each([
  ['NETWORK_ERROR', true],
  ['RATE_LIMITED', true],
  ['UNAVAILABLE', true],
  ['TIMEOUT', false],
  ['INTERNAL_ERROR', false],
  ['NOT_FOUND', false],
] as const)('a call that failed with %s is tried again: %s', (code, isRetried) => {
  const error = new ChatError('failed', { code })
  const pauseMs = pauseBeforeRetry(error, { attempt: 1, isRepeatable: true })
  expect(pauseMs !== undefined).toBe(isRetried)
})

test('a call that would wait longer than ten seconds fails at once, with the wait', async () => {
  const clock = stoppedClock()
  const { chat, intercept, requests, refuseRequests } = scriptedChat()
  await chat.connect()
  intercept(GET_USER, () => limited(40))
  await expect(chat.api.users.get({ userId: 'ana' })).rejects.toMatchObject({
    retryAfterMs: 40_000,
  })
  refuseRequests()
  await clock.forward(25_000)
  requests.length = 0
  await expect(chat.api.users.get({ userId: 'ben' })).rejects.toMatchObject({
    code: 'RATE_LIMITED',
    status: 429,
    retryAfterMs: 15_000,
  })
  expect(requests).toEqual([])
  const other = scriptedChat()
  await other.chat.api.users.get({ userId: 'ana' })
  await clock.forward(6_000)
  const late = chat.api.users.get({ userId: 'ben' })
  await clock.forward(10_000)
  expect(await late).toMatchObject({ id: 'ben' })
})

test('messages and other calls have limits of their own', async () => {
  const clock = stoppedClock()
  const { chat, channel, intercept, refuseRequests, count } = scriptedChat()
  channel('c')
  channel('d')
  await chat.connect()
  intercept(/^POST .*\/messages$/, () => limited(30))
  const first = chat.channel('c').send({ text: '1' })
  await quiet()
  const second = chat.channel('d').send({ text: '2' })
  await chat.api.users.get({ userId: 'ana' })
  await clock.forward(29_000)
  expect(count(/^POST .*\/messages$/)).toBe(1)
  refuseRequests()
  await clock.forward(5_000)
  await Promise.all([first.sent, second.sent])
  intercept(GET_USER, () => limited(30))
  await expect(chat.api.users.get({ userId: 'ana' })).rejects.toMatchObject({ status: 429 })
  await chat.channel('c').send({ text: '3' }).sent
})

test.each([
  ['over all its limits', () => limited(40)],
  ['of a server that has no time', () => html(503, { 'retry-after': '40' })],
])('a client %s makes each call once, however long it waits', async (_, answer) => {
  const clock = stoppedClock()
  const { chat, channel, intercept, requests, count, refuseRequests } = scriptedChat()
  channel('c').send('hello')
  intercept(/./, answer)
  void chat.connect().catch(() => {})
  chat.channels().subscribe(() => {})
  const room = chat.channel('c')
  room.watch()
  for (const store of [room.messages, room.members, room.pins, room.reads])
    store.subscribe(() => {})
  await clock.forward(39_000)
  expect(requests.filter((request, index) => requests.indexOf(request) !== index)).toEqual([])
  refuseRequests()
  await clock.forward(6_000)
  expect(chat.connection.getSnapshot().status).toBe('live')
  expect(room.members.getSnapshot().status).toBe('ready')
  // Later requests are answered as late.
  intercept(/sync$/, answer)
  const before = count(/sync$/)
  for (const digit of [1, 2]) {
    chat.channel(`00000000-0000-4000-8000-00000000000${digit}`).info.subscribe(() => {})
    await clock.forward(19_500)
  }
  expect(count(/sync$/)).toBe(before + 1)
})
