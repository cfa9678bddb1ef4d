import { once } from 'node:events'
import { connect } from 'node:net'
import { limits, streamPaths } from '@parley/contract'
import { expect, onTestFinished, test, vi } from 'vitest'
import { processorMs } from './support/cpu.ts'
import { exchange, expectError, post } from './support/raw.ts'
import { until } from './support/until.ts'
import { createWorld, PUBLIC_URL, useWorld } from './support/world.ts'

const MB = 2 ** 20
const json = { 'Content-Type': 'application/json' }
/** A few requests cost a tenth of this, and a lot on a slow machine. */
const BOUND_MS = 1_000

const world = useWorld({ userAdminAccess: 'server', hasConsole: true })

test('a content type of many spaces is parsed in linear time', async () => {
  const headers = { 'Content-Type': `application/x${' '.repeat(15_000)}x` }
  const paths = ['/import', streamPaths.http_stream, streamPaths.emulation]
  const attack = async () => {
    for (const path of [...paths, ...paths]) await post(world().url, path, { headers, body: '{}' })
  }
  expect(await processorMs(attack)).toBeLessThan(BOUND_MS)
})

/** Counts the parsed texts that are as long as a hostile body. */
function watchParsing() {
  const parse = vi.spyOn(JSON, 'parse')
  onTestFinished(() => parse.mockRestore())
  const count = () => parse.mock.calls.filter(([text]) => text.length > 100_000).length
  return Object.assign(count, { forget: () => void parse.mockClear() })
}
const sync = (path: string, headers: object, body: string, url = world().url) =>
  post(url, path, { headers: { ...json, ...headers }, body })

test('a tRPC body, of a call or a batch, is not parsed before its caller is known', async () => {
  const parsed = watchParsing()
  const body = `{"0":{"users":[]},"1":["${'x'.repeat(200_000)}"]}`
  for (const path of ['/trpc/users.sync', '/trpc/users.sync,users.sync?batch=1']) {
    const answer = await sync(path, { 'X-API-Key': 'pk_none' }, body)
    expect([answer.status, answer.body]).toEqual([401, expect.stringContaining('UNAUTHORIZED')])
  }
  expect(parsed()).toBe(0)
  const both = '/trpc/users.sync,users.sync?batch=1'
  const { body: text } = await sync(both, { 'X-API-Key': world().apiKey }, body)
  expect(JSON.parse(text)).toMatchObject([{ result: {} }, { error: {} }])
  expect(parsed()).toBe(1)
})

test('a body is not parsed before its caller is known, and within their limit', async () => {
  const limited = await createWorld({ rateLimits: { tokens: 0, messages: 0, requests: 1 } })
  onTestFinished(limited.stop)
  const parsed = watchParsing()
  const body = `{"users":["${'x'.repeat(1_000_000)}"]}`
  const send = (headers: object, url?: string) => sync('/api/users/sync', headers, body, url)
  for (const headers of [{}, { 'X-API-Key': 'pk_none' }])
    expectError(await send(headers), 'UNAUTHORIZED')
  expectError(await send({ Authorization: 'Bearer none' }), 'INVALID_TOKEN')
  await limited.backend.users.sync({ users: [] })
  expectError(await send({ 'X-API-Key': limited.apiKey }, limited.url), 'RATE_LIMITED')
  expect(parsed()).toBe(0)
})

test('bodies of unauthenticated callers that have many values are not parsed', async () => {
  const parsed = watchParsing()
  const values = '[],'.repeat(80_000)
  const commands = `{"session":"a","node":"b","data":"c","more":[${values}0]}`
  const refused = await post(world().url, streamPaths.emulation, { headers: json, body: commands })
  expect(expectError(refused, 'VALIDATION_ERROR')).toMatch(/^body: expected session/)
  const binary = { 'Content-Type': 'application/octet-stream' }
  const fields = { headers: binary, body: Buffer.from('0a00'.repeat(100_000), 'hex') }
  expectError(await post(world().url, streamPaths.emulation, fields), 'VALIDATION_ERROR')
  const headers = { ...json, Host: new URL(PUBLIC_URL).host }
  const signIn = { headers, body: `{"adminKey":"a","more":[${values}0]}` }
  expectError(await post(world().url, '/console/session', signIn), 'PAYLOAD_TOO_LARGE')
  expect(parsed()).toBe(0)
  const most = `{"adminKey":"${'\\u0061'.repeat(1_000)}"}`
  const wrong = await post(world().url, '/console/session', { headers, body: most })
  expectError(wrong, 'UNAUTHORIZED')
})

test('a body may have one value per 12 bytes of its limit, and at most 100,000', async () => {
  const key = { 'X-API-Key': world().apiKey }
  const parsed = watchParsing()
  const withValues = (name: string, count: number) => `{"${name}":[${'0,'.repeat(count - 3)}0]}`
  const ana = await world().user('ana')
  const { id } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const batch = `/api/channels/${id}/messages/batch`
  const token = { Authorization: `Bearer ${ana.token}` }
  for (const [path, name, headers, most] of [
    ['/api/users/sync', 'users', key, 100_000],
    [batch, 'messages', token, Math.floor(limits.messageBatch.bodyBytes / 12)],
  ] as const) {
    const refused = await sync(path, headers, withValues(name, most + 1))
    const many = expectError(refused, 'VALIDATION_ERROR')
    expect(many).toBe(`body: expected at most ${most.toLocaleString('en-US')} values`)
    expect(parsed()).toBe(0)
    const answer = await sync(path, headers, withValues(name, most))
    expect(expectError(answer, 'VALIDATION_ERROR')).toMatch(new RegExp(`^${name}: `))
    parsed.forget()
  }
  const custom = { text: '\\"[{,'.repeat(2_000) }
  const users = Array.from({ length: 100 }, (_, n) => ({ id: `user-${n}`, custom }))
  expect(await world().backend.users.sync({ users })).toMatchObject({ synced: 100 })
})

/** A client that sends most of a body, and then nothing. */
async function sendSlowly(url: string, bytes: number) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  const isCut = { now: false }
  socket.on('close', () => (isCut.now = true))
  await once(socket, 'connect')
  const lines = [
    'POST /api/users/sync HTTP/1.1',
    'Host: x',
    'Content-Type: application/json',
    `Content-Length: ${4 * MB}`,
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  socket.write(Buffer.alloc(bytes, ' '))
  return { socket, isCut }
}

test('a body that arrives byte by byte counts with the memory of its pieces', async () => {
  const { hostname, port } = new URL(world().url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  const lines = ['POST /api/users/sync HTTP/1.1', 'Host: x', 'Content-Type: application/json']
  socket.write(`${lines.join('\r\n')}\r\nTransfer-Encoding: chunked\r\n\r\n`)
  socket.write('1\r\n \r\n'.repeat(10_000))
  const { arrivingBodies } = world().metrics
  await until(async () => ((await arrivingBodies.get()).values[0]?.value ?? 0) > 2 * MB)
})

test('a body of very many pieces that are tiny is cut, one of larger pieces is not', async () => {
  const { hostname, port } = new URL(world().url)
  const begin = async (piece: string, pieces: number) => {
    const socket = connect(Number(port), hostname)
    onTestFinished(() => void socket.destroy())
    let answer = ''
    socket.on('error', () => {}).on('data', (text) => (answer += text))
    await once(socket, 'connect')
    const lines = ['POST /api/users/sync HTTP/1.1', 'Host: x', 'Connection: close']
    lines.push('Content-Type: application/json', 'Transfer-Encoding: chunked')
    socket.write(`${lines.join('\r\n')}\r\n\r\n`)
    socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`.repeat(pieces))
    socket.write('0\r\n\r\n')
    await new Promise((resolve) => socket.on('close', resolve))
    return answer
  }
  expect(await begin(' ', 50_000)).toBe('')
  expect(await begin(' '.repeat(20), 50_000)).toContain('HTTP/1.1 401')
})

test('of a body in thousands of short pieces a few are read in each turn', async () => {
  const counted = vi.spyOn(world().metrics.arrivingBodies, 'set')
  onTestFinished(() => counted.mockRestore())
  let most = 0
  let isOver = false
  const nextTurn = () => {
    most = Math.max(most, counted.mock.calls.length)
    counted.mockClear()
    if (!isOver) setImmediate(nextTurn)
  }
  nextTurn()
  const piece = ' '.repeat(20)
  const answers = await exchange(
    world().url,
    'POST /api/users/sync HTTP/1.1\r\nHost: x\r\nConnection: close\r\n',
    'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    `14\r\n${piece}\r\n`.repeat(20_000),
    '0\r\n\r\n',
  )
  isOver = true
  expect(answers).toMatchObject([{ status: 401 }])
  expect(most).toBeGreaterThan(5)
  expect(most).toBeLessThan(100)
})

test('if too many bodies arrive, the oldest are cut, and no more than needed', async () => {
  const small = await createWorld({ sendMemoryBytes: 8 * MB })
  onTestFinished(small.stop)
  const { arrivingBodies, bodiesCut } = small.metrics
  const bytes = async () => (await arrivingBodies.get()).values[0]?.value ?? 0
  const cut = async () => (await bodiesCut.get()).values[0]?.value ?? 0
  const begin = async () => {
    const [before, cutBefore] = [await bytes(), await cut()]
    const slow = await sendSlowly(small.url, 3 * MB)
    await until(async () => (await bytes()) >= before + 3 * MB || (await cut()) > cutBefore)
    return slow
  }
  const slow: Awaited<ReturnType<typeof begin>>[] = []
  for (let count = 0; count < 2; count++) slow.push(await begin())
  expect(await cut()).toBe(0)
  for (let count = 0; count < 2; count++) slow.push(await begin())
  await until(async () => (await cut()) === 2)
  await until(() => slow.map(({ isCut }) => isCut.now).join() === 'true,true,false,false')
  const users = Array.from({ length: 100 }, (_, n) => ({
    id: `u${n}`,
    custom: { a: 'x'.repeat(9_000) },
  }))
  expect(await small.backend.users.sync({ users })).toMatchObject({ synced: 100 })
  for (const { socket } of slow) socket.destroy()
  await until(async () => (await bytes()) === 0)
  expect(await cut()).toBe(2)
})
