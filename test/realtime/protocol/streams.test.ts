import { once } from 'node:events'
import { request } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { limits, streamPaths } from '@parley/contract'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { emulate, RawStream } from '../../support/stream.ts'
import { until } from '../../support/until.ts'
import { createWorld, type User, useWorld, type World } from '../../support/world.ts'

const ORIGIN = 'https://app.example.com'
const world = useWorld({ allowedOrigins: [ORIGIN], socketsPerUser: 40 })
const transports = ['http_stream', 'sse'] as const
let ana: User
let ben: User
let other: World
const open: RawStream[] = []
beforeAll(async () => {
  ;[ana, ben] = await world().users('ana', 'ben')
  other = await createWorld({ databaseUrl: world().databaseUrl })
})
afterAll(() => other.stop())
afterEach(() => {
  for (const raw of open.splice(0)) raw.terminate()
})

type Options = ConstructorParameters<typeof RawStream>[2]
const tracked = (raw: RawStream) => {
  open.push(raw)
  return raw
}
const began = (frame: string, options?: Options, node = world()) =>
  tracked(new RawStream(node, frame, options))
const connected = async (user = ana, options?: Options, node = world()) =>
  tracked(await RawStream.connect(node, user, options))
const connect = (token: string) => JSON.stringify({ id: 1, connect: { token } })
const topicOf = ({ minted: { appId, user } }: User) => `user:${appId}:${user.id}`

describe.each(transports)('over %s', (transport) => {
  test('commands are answered on the stream, and events follow', async () => {
    const raw = await connected(ana, { transport })
    expect(raw.messages[0]?.connect).toMatchObject({
      pong: true,
      session: expect.stringMatching(/^[\w.-]{76}$/),
      node: expect.stringMatching(/^[\da-f-]{36}$/),
    })
    const frame = JSON.stringify({ id: 2, subscribe: { channel: topicOf(ana) } })
    expect(await raw.post(frame)).toBe(204)
    expect((await raw.reply(2)).subscribe).toMatchObject({ recoverable: true })
    await ben.channels.create({ type: 'group', name: 'Talk', memberIds: ['ana'] })
    await raw.pushed(({ pub }) => pub?.data.type === 'channel.added')
  })

  test('the answer begins at once, and proxies are asked not to keep or change it', async () => {
    const raw = await connected(ana, { transport, headers: { Origin: ORIGIN } })
    // An EventSource opens with the first bytes, before there is anything to say.
    expect(raw.frames.join('').startsWith(':\n\n')).toBe(transport === 'sse')
    expect((await raw.opened).headers).toMatchObject({
      'x-accel-buffering': 'no',
      'cache-control': 'no-store, no-transform',
      'content-type': transport === 'sse' ? 'text/event-stream' : 'application/json',
      'access-control-allow-origin': ORIGIN,
      'x-request-id': expect.any(String),
    })
  })

  test('pages of other origins are refused, as over WebSockets', async () => {
    const headers = { Origin: 'https://evil.example.com' }
    const raw = began(connect(ana.minted.wsToken), { transport, headers })
    await expect(raw.closed).rejects.toThrow('answered 403')
  })

  const bad: [string, string, number][] = [
    ['a bad token', connect('garbage'), 3500],
    ['a command before connect', JSON.stringify({ id: 1, subscribe: { channel: 'x' } }), 3501],
    ['no JSON', 'hello', 3501],
    ['more than 4 KB before connect', connect('x'.repeat(limits.realtime.commandBytes)), 3501],
  ]
  test.each(bad)('%s ends the stream, with a push that has the code', async (_, frame, code) => {
    const raw = began(frame, { transport })
    expect((await raw.closed).code).toBe(code)
  })

  test('a connection that sends no pong ends with 3012, one that does lives on', async () => {
    const node = await createWorld({
      databaseUrl: world().databaseUrl,
      timings: { pingMs: 1_500, pongMs: 1_300 },
    })
    onTestFinished(node.stop)
    const silent = await connected(ana, { transport }, node)
    const alive = await connected(ana, { transport }, node)
    await alive.ping(1)
    expect(await alive.post('{}')).toBe(204)
    await alive.ping(2)
    expect((await silent.closed).code).toBe(3012)
  })
})

test('a stream whose request is complete only when the server stops is refused', async () => {
  const node = await createWorld({ databaseUrl: world().databaseUrl })
  const first = await connected(ana, {}, node)
  const received = once(node.app.server, 'request')
  const late = request(`${node.url}${streamPaths.http_stream}`, { method: 'POST', agent: false })
  const answered = once(late, 'response')
  late.flushHeaders()
  await received
  await nextTurn() // its headers were let in by then
  const stopped = node.stop()
  expect((await first.closed).code).toBe(3001)
  late.end(connect(ana.minted.wsToken))
  const [{ statusCode }] = await answered
  late.destroy()
  await stopped
  expect(statusCode).toBe(503)
})

describe('emulation', () => {
  const history = (id: number) =>
    JSON.stringify({ id, history: { channel: topicOf(ana), limit: 0 } })

  test('a request that reaches another node is passed to the node of the session', async () => {
    const raw = await connected(ana, { emulationNode: other })
    expect(await raw.post(history(2))).toBe(204)
    expect((await raw.reply(2)).history).toBeDefined()
  })

  test('many requests at once through another node are each answered once', async () => {
    const raw = await connected(ana, { emulationNode: other })
    const ids = Array.from({ length: 20 }, (_, index) => index + 2)
    expect(new Set(await Promise.all(ids.map((id) => raw.post(history(id)))))).toEqual(
      new Set([204]),
    )
    await Promise.all(ids.map((id) => raw.reply(id)))
    const answered = raw.messages.flatMap(({ id }) => (id > 1 ? [id] : []))
    expect(answered.sort((a, b) => a - b)).toEqual(ids)
  })

  test('a session that has ended is unknown, on its own node and through another', async () => {
    const raw = await connected()
    const { session } = raw
    raw.terminate()
    await until(async () => (await emulate(world(), { ...session, data: '{}' })) === 404)
    expect(await emulate(other, { ...session, data: '{}' })).toBe(404)
  })

  test('a session of a node that is gone is unknown', async () => {
    const gone = await createWorld({ databaseUrl: world().databaseUrl })
    const raw = await connected(ana, {}, gone)
    const { session } = raw
    await gone.stop()
    expect((await raw.closed).code).toBe(3001)
    expect(await emulate(world(), { ...session, data: '{}' })).toBe(404)
  })

  test('commands without the id of a session are refused', async () => {
    const raw = await connected()
    const { session, node } = raw.session
    const data = JSON.stringify({ id: 2, unsubscribe: { channel: 'x' } })
    const foreign = (await connected(ben)).session.session
    const [random, mac] = session.split('.')
    const forged = [`${foreign.split('.')[0]}.${mac}`, `${random}.${foreign.split('.')[1]}`, random]
    for (const each of forged) {
      expect(await emulate(world(), { session: each, node, data })).toBe(404)
      expect(await emulate(other, { session: each, node, data })).toBe(404)
    }
    const elsewhere = { session, node: crypto.randomUUID(), data }
    expect(await emulate(world(), elsewhere)).toBe(404)
    await raw.ask({ id: 3, unsubscribe: { channel: 'x' } })
    expect(raw.messages.map(({ id }) => id)).toEqual([1, 3])
  })

  const malformed: [string, string][] = [
    ['no JSON', 'hello'],
    ['an array', '[]'],
    ['no session', '{"node":"x","data":"{}"}'],
    ['data that is no text', '{"session":"x","node":"x","data":{}}'],
    ['no body', ''],
  ]
  test.each(malformed)('a request with %s is refused with 400', async (_, body) => {
    expect(await emulate(world(), body)).toBe(400)
  })

  test('a type of bodies is the same in capitals, and with parameters', async () => {
    const raw = await connected()
    for (const type of ['Application/Octet-Stream', 'application/octet-stream; charset=utf-8']) {
      const { status } = await fetch(`${world().url}${streamPaths.emulation}`, {
        method: 'POST',
        headers: { 'Content-Type': type },
        body: Buffer.from(JSON.stringify({ ...raw.session, data: '{}' })),
      })
      expect(status).toBe(400)
    }
    await raw.ask({ id: 2, ping: {} })
  })

  test('a request of more than 256 KB is refused', async () => {
    const { session } = await connected()
    const data = 'x'.repeat(limits.bodyBytes)
    expect(await emulate(world(), { ...session, data })).toBe(413)
  })

  test('a missing connect command is refused, and so is one too long for a URL', async () => {
    const path = `${world().url}${streamPaths.sse}`
    expect((await fetch(`${path}?cf_connect=${'x'.repeat(20_000)}`)).status).toBe(400)
    expect((await fetch(path)).status).toBe(400)
    expect((await fetch(`${path}?cf_connect=a&cf_connect=b`)).status).toBe(400)
  })

  test('the connections of a user are limited together over all transports', async () => {
    const node = await createWorld({ databaseUrl: world().databaseUrl, socketsPerUser: 2 })
    onTestFinished(node.stop)
    const first = await connected(ana, {}, node)
    const second = await connected(ana, { transport: 'sse' }, node)
    const third = began(connect(ana.minted.wsToken), {}, node)
    expect((await third.closed).code).toBe(4000)
    // One that has ended no longer counts.
    first.terminate()
    let last = first
    await until(async () => {
      last = began(connect(ana.minted.wsToken), {}, node)
      return last.reply(1).then(
        () => true,
        () => false,
      )
    })
    await world().backend.tokens.revoke({ userId: 'ana' })
    for (const raw of [second, last]) expect((await raw.closed).code).toBe(3503)
    ana = await world().user('ana')
  })

  test('malformed commands end the stream', async () => {
    const raw = await connected()
    expect(await raw.post('hello')).toBe(204)
    expect((await raw.closed).code).toBe(3501)
  })

  test('a page of another origin cannot send commands', async () => {
    const { session } = await connected()
    const { status } = await fetch(`${world().url}${streamPaths.emulation}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: 'https://evil.example.com' },
      body: JSON.stringify({ ...session, data: '{}' }),
    })
    expect(status).toBe(403)
  })
})
