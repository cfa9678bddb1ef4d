import { rmSync } from 'node:fs'
import { createApi } from '@parley/client/api'
import { describeError } from '@parley/server/core/describe-error'
import { createOutages, logOutages } from '@parley/server/db/outages'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createDataFolder } from './support/folders.ts'
import { type LogLine, logLines } from './support/log-lines.ts'
import { exchange } from './support/raw.ts'
import { RawSocket } from './support/socket.ts'
import { production, start } from './support/start.ts'
import { RawStream } from './support/stream.ts'
import { until } from './support/until.ts'
import { useWorld } from './support/world.ts'

const directory = createDataFolder('logs')
const world = useWorld()
let node: ReturnType<typeof start>
let url = ''
let apiKey = ''
let appId = ''
const sockets: RawSocket[] = []

beforeAll(async () => {
  node = start({ ...production, DATABASE_URL: world().databaseUrl }, directory)
  url = await node.address()
  const app = await createApi({ url, adminKey: production.ADMIN_API_KEY }).apps.create({
    name: 'Logged',
  })
  apiKey = app.apiKey
  appId = app.id
})
afterEach(() => {
  for (const { socket } of sockets.splice(0)) socket.terminate()
})
afterAll(() => {
  node?.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
})

const lines = () => logLines(node)
const line = (find: (line: LogLine) => boolean) => until(() => lines().find(find))
/** The lines of all answered requests: the refused call here has the last one. */
async function allLines() {
  const id = crypto.randomUUID()
  await fetch(`${url}/api/channels`, { headers: { 'x-request-id': id } })
  await line(({ requestId }) => requestId === id)
  return lines()
}

const traceOf = (digits: string) => digits.repeat(32)

/** A call with a trace of its own, by which its line is found. */
const call = (path: string, trace: string, { token, body }: { token?: string; body?: object }) =>
  fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      traceparent: `00-${trace}-${'1'.repeat(16)}-01`,
      ...(token && { Authorization: `Bearer ${token}` }),
      ...(body && { 'Content-Type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })

const mint = (userId: string) => createApi({ url, apiKey }).tokens.create({ userId })
const createGroup = async (token: string, memberIds: string[]) =>
  (await createApi({ url, token }).channels.create({ type: 'group', name: 'Talk', memberIds })).id

test('a request has one line, with who did what from where, and its trace', async () => {
  const { token } = await mint('ana')
  const channelId = await createGroup(token, [])
  const path = `/api/channels/${channelId}/messages`
  // A quarter of the requests has a line.
  const found = await until(async () => {
    await call(path, traceOf('a'), { token, body: { text: 'hush-text' } })
    return lines().find(({ trace }) => trace === traceOf('a'))
  })
  expect(found).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    node: expect.stringMatching(/^[0-9a-f]{8}$/),
    requestId: expect.any(String),
    operation: 'messages.send',
    app: appId,
    user: 'ana',
    status: 201,
    ms: expect.any(Number),
    address: '127.0.0.1',
    trace: traceOf('a'),
    msg: 'request completed',
  })
  expect(node.output()).not.toContain('hush-text')
  // A quarter of these lines is written, with ids as long as most applications have them.
  const length = JSON.stringify({ ...found, user: crypto.randomUUID(), ms: 99 }).length + 1
  expect(length * 0.25).toBeLessThanOrEqual(100)
})

test('all refused requests are logged, and a share of those that succeed', async () => {
  const { token } = await mint('ben')
  // A caller may choose a trace that ends in zeros or in f, but not that its request is logged.
  const traces = [`${'b'.repeat(24)}00000000`, `${'b'.repeat(24)}ffffffff`]
  const calls = traces.flatMap((trace) => Array.from({ length: 64 }, () => trace))
  for (const trace of calls) await call('/api/channels', trace, { token })
  await call('/health', traceOf('d'), {})
  await call('/api/channels', traceOf('c'), { token: 'forged' })
  expect(await line(({ trace }) => trace === traceOf('c'))).toMatchObject({
    operation: 'channels.list',
    status: 401,
    code: 'INVALID_TOKEN',
  })
  // No operation has seen these.
  for (let n = 0; n < 12; n++) await call('/trpc/channels.list?input=%7B', traceOf('e'), {})
  await until(() => lines().filter(({ trace }) => trace === traceOf('e')).length === 12)
  // A busy machine may need a second for a request: that one is logged.
  const quick = lines().filter(({ ms }) => Number(ms) < 1_000)
  for (const each of traces) {
    const written = quick.filter(({ trace }) => trace === each).length
    expect(written).toBeGreaterThan(0)
    expect(written).toBeLessThan(64)
  }
  expect(quick.map(({ trace }) => trace)).not.toContain(traceOf('d'))
})

test('the end of a socket has one line: whose it was, how long, why, and how much', async () => {
  const minted = await mint('cem')
  const socket = await RawSocket.connect({ url }, { minted })
  sockets.push(socket)
  socket.socket.close(1000)
  await socket.closed
  expect(await line(({ msg, user }) => msg === 'socket closed' && user === 'cem')).toMatchObject({
    level: 'info',
    app: appId,
    code: 1000,
    transport: 'websocket',
    path: '/connection/websocket',
    seconds: expect.any(Number),
    framesIn: 1,
    framesOut: 1,
    bytesIn: expect.any(Number),
    bytesOut: expect.any(Number),
    address: '127.0.0.1',
    requestId: expect.any(String),
  })
})

test('the end of a stream has one line, which says its transport and not its session', async () => {
  const minted = await mint('cleo')
  const stream = await RawStream.connect({ url }, { minted })
  const { session } = stream.session
  expect(await stream.post('{"send":{}}')).toBe(204)
  stream.terminate()
  expect(await line(({ msg, user }) => msg === 'socket closed' && user === 'cleo')).toMatchObject({
    transport: 'http_stream',
    path: '/connection/http_stream',
    code: 1005,
    framesIn: 2,
    framesOut: 1,
    address: '127.0.0.1',
  })
  expect(JSON.stringify(lines())).not.toContain(session.slice(0, 20))
  const ofStream = lines().filter(({ route }) => route === '/connection/http_stream')
  expect(ofStream).toEqual([])
})

test('an outage of the database has a line at its beginning and one at its end', () => {
  const written: unknown[] = []
  const outages = createOutages()
  const write = (level: string) => (facts: object, message: string) =>
    void written.push({ level, ...facts, message })
  logOutages(outages, { warn: write('warn'), info: write('info') })
  const lost = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' })
  outages.worked()
  outages.failed(new Error('a bug'))
  // A statement that another one blocks for too long, a lock, and a deadlock.
  for (const code of ['57014', '55P03', '40P01'])
    outages.failed(Object.assign(new Error('blocked'), { code }))
  outages.worked()
  for (let failure = 0; failure < 5; failure++) outages.failed(lost)
  outages.worked()
  outages.worked()
  outages.failed(lost)
  outages.worked()
  const begins = { level: 'warn', fault: 'connection refused', message: 'database unavailable' }
  const ends = { level: 'info', ms: expect.any(Number), message: 'database available again' }
  expect(written).toEqual([begins, { ...ends, failures: 5 }, begins, { ...ends, failures: 1 }])
})

test('an error is logged with its causes and their errors, even if it causes itself', () => {
  const refused = (address: string) =>
    Object.assign(new Error(`connect ${address}`), { code: 'ECONNREFUSED' })
  const all = new AggregateError([refused('::1'), refused('127.0.0.1')], 'no address answers')
  expect(describeError(new Error('failed', { cause: all }))).toMatchObject({
    message: 'failed',
    cause: {
      message: 'no address answers',
      errors: [
        { message: 'connect ::1', code: 'ECONNREFUSED' },
        { message: 'connect 127.0.0.1', code: 'ECONNREFUSED' },
      ],
    },
  })
  const endless = new Error('its own cause')
  endless.cause = endless
  expect(describeError(endless)).toMatchObject({ cause: { message: 'its own cause' } })
})

test('a request that the audit log has an entry of is always logged, under its id', async () => {
  const operator = createApi({ url, adminKey: production.ADMIN_API_KEY })
  // A quarter of the other requests has a line.
  const names = Array.from({ length: 12 }, (_, index) => `Key ${index}`)
  for (const name of names) await operator.apps.createKey({ appId, name })
  const { entries } = await operator.audit.listOfApp({ appId, operation: 'apps.createKey' })
  expect(entries).toHaveLength(names.length)
  const body = JSON.stringify({ adminKey: production.ADMIN_API_KEY })
  const headers = { 'Content-Type': 'application/json' }
  for (const _ of names) await fetch(`${url}/console/session`, { method: 'POST', headers, body })
  const signIns = await operator.audit.list({ operation: 'console.signIn', limit: names.length })
  expect(signIns.entries).toHaveLength(names.length)
  const logged = (await allLines()).map(({ requestId }) => requestId)
  const noted = [...entries, ...signIns.entries].map(({ requestId }) => requestId)
  expect(logged).toEqual(expect.arrayContaining(noted))
})

test.each([
  ['garbage', 'garbage\r\n\r\n', 400, 'Malformed HTTP'],
  [
    'headers of 20 KB',
    `GET /health HTTP/1.1\r\nHost: x\r\nCookie: hush=${'a'.repeat(20_000)}\r\n\r\n`,
    400,
    'headers: expected at most 16 KB',
  ],
  ['CONNECT', 'CONNECT hush.example:80 HTTP/1.1\r\nHost: x\r\n\r\n', 404, 'No such route'],
])('an unreadable request is logged: %s', async (_, bytes, status, reason) => {
  const [answer] = await exchange(url, bytes)
  const requestId = answer?.headers['x-request-id']
  const found = (await allLines()).filter((each) => each.requestId === requestId)
  expect(found).toEqual([
    {
      level: 'info',
      time: expect.any(String),
      node: expect.any(String),
      status,
      reason,
      address: '127.0.0.1',
      requestId,
      msg: 'request refused unread',
    },
  ])
  expect(node.output()).not.toContain('hush')
})
