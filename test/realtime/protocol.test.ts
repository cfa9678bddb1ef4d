import { topics } from '@parley/contract'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { forge } from '../support/forge.ts'
import { inSeconds, RawSocket, useSockets } from '../support/socket.ts'
import { createWorld, type User, useWorld } from '../support/world.ts'

const world = useWorld({ allowedOrigins: ['https://app.example.com'] })
/** Another node, one of whose clocks is short: the others leave a busy machine its time. */
const hurried = async (timings: NonNullable<Parameters<typeof createWorld>[0]>['timings']) => {
  const node = await createWorld({ databaseUrl: world().databaseUrl, timings })
  onTestFinished(node.stop)
  return node
}
let ana: User
let ben: User
const kept = useSockets()
beforeAll(async () => {
  ;[ana, ben] = await world().users('ana', 'ben')
})
const opened = (options?: Parameters<typeof RawSocket.open>[1]) => kept(RawSocket.open(world(), options))
const connected = (user = ana) => kept(RawSocket.connect(world(), user))
const connect = (token: string, id = 1) => ({ id, connect: { token } })
const group = async (...memberIds: string[]) => (await ana.channels.create({ type: 'group', name: 'Talk', memberIds })).id
const chat = (channelId: string) => topics.channel(world().appId, channelId)
const own = (user: User) => topics.user(world().appId, user.id)

describe('framing', () => {
  test('the sub-protocol asked for is answered, and none is fine', async () => {
    expect((await opened({ protocols: ['centrifuge-json'] })).socket.protocol).toBe('centrifuge-json')
    expect((await opened({ protocols: ['centrifuge-protobuf'] })).socket.protocol).toBe('centrifuge-protobuf')
    expect((await opened()).socket.protocol).toBe('')
  })

  test.each(['?format=protobuf', '?cf_protocol=protobuf'])('%s means Protobuf: text is malformed there', async (query) => {
    const raw = await opened({ query })
    raw.send(connect(ana.minted.wsToken))
    expect(await raw.closed).toEqual({ code: 3501, reason: 'bad request' })
  })

  test('a plain GET of the address is not found', async () => {
    expect((await fetch(`${world().url}/connection/websocket`)).status).toBe(404)
  })

  test('a connect and hundreds of subscribes in one frame are answered in order', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => group()))
    const raw = await opened()
    const wanted = Array.from({ length: 400 }, (_, index) =>
      index < 20 ? chat(ids[index] ?? '') : chat(`019c9b1e-7a52-7cc1-8f0e-${String(index).padStart(12, '0')}`),
    )
    raw.send(connect(ana.minted.wsToken), ...wanted.map((channel, index) => ({ id: index + 2, subscribe: { channel } })))
    await raw.reply(401)
    expect(raw.messages.flatMap(({ id }) => id ?? [])).toEqual(Array.from({ length: 401 }, (_, index) => index + 1))
    expect(raw.messages.filter(({ subscribe }) => subscribe).map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, index) => index + 2))
    expect(raw.messages.slice(21, 401).every(({ error }) => error?.code === 103)).toBe(true)
  })

  test('nothing after a failed connect is carried out', async () => {
    const raw = await opened()
    raw.send(connect(forge(ana.minted.wsToken, { payload: { iat: inSeconds(-100), exp: inSeconds(-50) } })), { id: 2, subscribe: { channel: own(ana) } })
    expect((await raw.reply(1)).error.code).toBe(109)
    expect((await raw.closed).code).toBe(3502)
    expect(raw.messages).toHaveLength(1)
  })

  test('a frame of more than a mebibyte closes with 1009, one of a mebibyte does not', async () => {
    const raw = await opened()
    const [before, after] = JSON.stringify({ ...connect(ana.minted.wsToken), padding: '|' }).split('|')
    const frame = `${before}${'x'.repeat(1024 * 1024 - (before?.length ?? 0) - (after?.length ?? 0))}${after}`
    raw.socket.send(frame)
    expect((await raw.reply(1)).connect.client).toBeTypeOf('string')
    raw.socket.send(`${frame} `)
    expect((await raw.closed).code).toBe(1009)
  })
})

describe('who is let in', () => {
  test('a foreign origin is refused at the upgrade; an allowed one, the own one and none are not', async () => {
    await expect(opened({ origin: 'https://evil.example.com' })).rejects.toThrow('answered 403')
    await expect(opened({ origin: 'null' })).rejects.toThrow('answered 403')
    await opened({ origin: 'https://app.example.com' })
    await opened({ origin: world().url })
  })

  const bad: [string, (raw: RawSocket) => unknown][] = [
    ['a command before connect', (raw) => raw.send({ id: 1, subscribe: { channel: own(ana) } })],
    ['a second connect', (raw) => raw.send(connect(ana.minted.wsToken), connect(ana.minted.wsToken, 2))],
    ['an unknown command', (raw) => raw.send(connect(ana.minted.wsToken), { id: 2, dance: {} })],
    ['two requests in one command', (raw) => raw.send({ id: 1, connect: { token: ana.minted.wsToken }, rpc: {} })],
    ['a command without id', (raw) => raw.send(connect(ana.minted.wsToken), { subscribe: { channel: own(ana) } })],
    ['an unasked pong', (raw) => raw.send(connect(ana.minted.wsToken), {})],
    ['no JSON', (raw) => raw.socket.send('hello')],
    ['JSON that is no object', (raw) => raw.socket.send('[1]')],
    ['a field of the wrong type', (raw) => raw.send({ id: 1, connect: { token: 7 } })],
    ['an id beyond uint32', (raw) => raw.send({ ...connect(ana.minted.wsToken), id: 2 ** 32 })],
    ['a binary frame', (raw) => raw.socket.send(Buffer.from(JSON.stringify(connect(ana.minted.wsToken))))],
    ['a connect without token', (raw) => raw.send({ id: 1, connect: {} })],
  ]
  test.each(bad)('%s closes with 3501', async (_, misbehave) => {
    const raw = await opened()
    misbehave(raw)
    expect(await raw.closed).toEqual({ code: 3501, reason: 'bad request' })
  })

  test('a send needs no id and gets no reply; unknown fields are ignored', async () => {
    const raw = await connected()
    raw.send({ send: { data: { hello: 1 } } }, { id: 2, unsubscribe: { channel: 'x', later: 1 }, more: true })
    expect(await raw.reply(2)).toEqual({ id: 2, unsubscribe: {} })
    expect(raw.messages).toHaveLength(2)
  })

  test('who does not connect in time is closed with 3502', async () => {
    const raw = await kept(RawSocket.open(await hurried({ connectMs: 500 })))
    expect(await raw.closed).toEqual({ code: 3502, reason: 'stale' })
  })

  test('the reply says who one is, and subscribes to nothing by itself', async () => {
    const raw = await connected()
    const { connect: result } = await raw.reply(1)
    expect(result).toMatchObject({ version: '0.1.0', expires: true, pong: true, data: { appId: world().appId, userId: 'ana', userTopic: own(ana) } })
    expect(result.ttl).toBeGreaterThan(86_000)
    expect(result.subs).toBeUndefined()
    expect((await raw.ask({ id: 2, subscribe: { channel: own(ana) } })).subscribe).toBeDefined()
  })
})

describe('tokens', () => {
  const bad: [string, () => string][] = [
    ['garbage', () => 'garbage'],
    ['a tampered one', () => `${ana.minted.wsToken.slice(0, -4)}AAAA`],
    ['alg none', () => forge(ana.minted.wsToken, { header: { alg: 'none' } }).replace(/[^.]*$/, '')],
    ['an API token', () => ana.token],
    ['one of another secret', () => forge(ana.minted.wsToken, { secret: 'another secret, 32 bytes or longer' })],
    ['one of a former generation', () => forge(ana.minted.wsToken, { payload: { gen: 7 } })],
    ['one of a user who does not exist', () => forge(ana.minted.wsToken, { payload: { sub: `${world().appId}:nobody` } })],
  ]
  test.each(bad)('%s closes with 3500', async (_, token) => {
    const raw = await opened()
    raw.send(connect(token()))
    expect(await raw.closed).toEqual({ code: 3500, reason: 'invalid token' })
  })

  test('a connection whose token ends is closed with 3005 after the grace, unless it refreshes', async () => {
    const short = () => forge(ana.minted.wsToken, { payload: { exp: inSeconds(1) } })
    const node = await hurried({ expiryGraceMs: 300 })
    const [idle, diligent] = [await kept(RawSocket.open(node)), await kept(RawSocket.open(node))]
    for (const raw of [idle, diligent]) raw.send(connect(short()))
    expect((await diligent.reply(1)).connect.ttl).toBe(1)
    const refreshed = await diligent.ask({ id: 2, refresh: { token: ana.minted.wsToken } })
    expect(refreshed.refresh).toMatchObject({ version: '0.1.0', expires: true, client: expect.any(String) })
    const pongs = setInterval(() => [idle, diligent].map(answerPings), 20)
    expect(await idle.closed).toEqual({ code: 3005, reason: 'connection expired' })
    clearInterval(pongs)
    expect(
      (await diligent.ask({ id: 3, refresh: { token: forge(ana.minted.wsToken, { payload: { iat: inSeconds(-9), exp: inSeconds(-5) } }) } })).error.code,
    ).toBe(109)
  })

  test("a refresh with another user's token closes with 3500", async () => {
    const raw = await connected()
    raw.send({ id: 2, refresh: { token: ben.minted.wsToken } })
    expect((await raw.closed).code).toBe(3500)
  })
})

const answered = new WeakMap<RawSocket, number>()
function answerPings(raw: RawSocket) {
  const pings = raw.messages.filter((message) => Object.keys(message).length === 0).length
  for (let count = answered.get(raw) ?? 0; count < pings; count++) raw.send({})
  answered.set(raw, pings)
}

describe('pings', () => {
  test('the server asks, and asks again who answers', async () => {
    const raw = await kept(RawSocket.connect(await hurried({ pingMs: 700 }), ana))
    await raw.ping(1)
    raw.send({})
    await raw.ping(2)
  })

  test('who does not answer is closed with 3012', async () => {
    const raw = await kept(RawSocket.connect(await hurried({ pingMs: 700, pongMs: 250 }), ana))
    expect(await raw.closed).toEqual({ code: 3012, reason: 'no pong' })
  })
})

describe('topics', () => {
  test('foreign and malformed ones are refused with 103, a second subscribe with 105', async () => {
    const channelId = await group()
    const raw = await connected(ben)
    const foreign = [
      chat(channelId),
      own(ana),
      topics.user(channelId, 'ben'),
      `chat:${world().appId}`,
      'chat',
      '',
      `chat:${world().appId}:${channelId}:x`,
      `CHAT:${world().appId}:${channelId}`,
      chat(channelId.toUpperCase()),
    ]
    for (const [index, channel] of foreign.entries()) expect((await raw.ask({ id: index + 2, subscribe: { channel } })).error.code, channel).toBe(103)
    raw.send({ id: 20, subscribe: { channel: own(ben) } }, { id: 21, subscribe: { channel: own(ben) } })
    expect((await raw.reply(20)).subscribe).toMatchObject({ recoverable: true, positioned: true, epoch: expect.any(String) })
    expect((await raw.reply(21)).error.code).toBe(105)
    expect((await raw.ask({ id: 22, subscribe: { channel: own(ben) } })).error.code).toBe(105)
    expect(await raw.ask({ id: 23, unsubscribe: { channel: own(ben) } })).toEqual({ id: 23, unsubscribe: {} })
    expect((await raw.ask({ id: 24, subscribe: { channel: own(ben) } })).subscribe).toBeDefined()
  })

  test('everyone in the app may listen to a public channel, members of the workspace to a team', async () => {
    const open = await ana.channels.create({ type: 'public', name: 'Square' })
    const team = await ana.channels.create({ type: 'team', name: 'Team' })
    const raw = await connected(ben)
    expect((await raw.ask({ id: 2, subscribe: { channel: chat(open.id) } })).subscribe).toBeDefined()
    expect((await raw.ask({ id: 3, subscribe: { channel: chat(team.id) } })).error.code).toBe(103)
  })

  test('a socket holds a thousand topics, the next is refused with 106', async () => {
    const { db, appId } = world()
    const rows = await db<{ id: string }[]>`
      insert into channels (id, app_id, cid, type, created_by, name) select gen_random_uuid(), ${appId}, 'public:many-' || n, 'public', 'ana', 'x' from generate_series(1, 1001) n returning id`
    const raw = await connected()
    raw.send(...rows.map(({ id }, index) => ({ id: index + 2, subscribe: { channel: chat(id) } })))
    expect((await raw.reply(1002)).error.code).toBe(106)
    expect(raw.messages.filter(({ subscribe }) => subscribe)).toHaveLength(1000)
  })

  test('clients write through REST: publish is 103, rpc and ping are 108', async () => {
    const raw = await connected()
    expect((await raw.ask({ id: 2, publish: { channel: own(ana), data: {} } })).error).toEqual({ code: 103, message: 'permission denied' })
    expect((await raw.ask({ id: 3, rpc: { method: 'x', data: {} } })).error.code).toBe(108)
    expect((await raw.ask({ id: 4, ping: {} })).error.code).toBe(108)
  })

  test('history gives the position, all that is kept, or a part in either direction', async () => {
    const channelId = await group('ben')
    for (const text of ['a', 'b', 'c']) await ana.messages.send({ channelId, text })
    const raw = await connected()
    const ask = async (id: number, request: object) => (await raw.ask({ id, history: { channel: chat(channelId), ...request } })).history
    const { epoch, offset: top, publications } = await ask(2, {})
    expect([top, publications]).toEqual([5, undefined])
    const offsets = async (id: number, request: object) => (await ask(id, request)).publications?.map(({ offset }: { offset: number }) => offset)
    expect(await offsets(3, { limit: -1 })).toEqual([1, 2, 3, 4, 5])
    expect(await offsets(4, { limit: 2, since: { offset: 2, epoch } })).toEqual([3, 4])
    expect(await offsets(5, { limit: 2, since: { offset: 4, epoch }, reverse: true })).toEqual([3, 2])
    expect((await raw.ask({ id: 6, history: { channel: chat(channelId), limit: 1, since: { offset: 1, epoch: 'other' } } })).error.code).toBe(112)
    expect((await raw.ask({ id: 7, history: { channel: own(ben) } })).error.code).toBe(103)
  })

  test('presence lists who is connected among those concerned', async () => {
    const [eva, fay] = await world().users('eva', 'fay')
    const { id: channelId } = await eva.channels.create({ type: 'group', name: 'Talk', memberIds: ['fay'] })
    const [raw, other] = [await connected(eva), await connected(fay)]
    const { presence } = (await raw.ask({ id: 2, presence: { channel: chat(channelId) } })).presence
    expect(new Set(Object.values<{ user: string }>(presence).map(({ user }) => user))).toEqual(new Set(['eva', 'fay']))
    expect((await raw.ask({ id: 3, presence_stats: { channel: chat(channelId) } })).presence_stats).toEqual({ num_clients: 2, num_users: 2 })
    expect((await other.ask({ id: 4, presence: { channel: own(eva) } })).error.code).toBe(103)
  })

  test('a flood of commands is refused with 111, then closed with 3013', async () => {
    const raw = await connected()
    const flood = Array.from({ length: 1_700 }, (_, index) => ({ id: index + 2, unsubscribe: { channel: 'x' } }))
    raw.send(...flood)
    raw.send(...flood)
    raw.send(...flood)
    expect((await raw.closed).code).toBe(3013)
    expect(raw.messages.some(({ error }) => error?.code === 111 && error.temporary)).toBe(true)
  })
})
