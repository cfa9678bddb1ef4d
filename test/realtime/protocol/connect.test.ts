import { describe, expect, test } from 'vitest'
import { forge } from '../../support/forge.ts'
import { inSeconds, type RawSocket } from '../../support/socket.ts'
import { useWorld } from '../../support/world.ts'
import { useSocketUsers } from '../sockets.ts'

const world = useWorld({ allowedOrigins: ['https://app.example.com'] })
const { ana, ben, opened, connected, hurriedNode, createGroup, channelTopic, userTopic } =
  useSocketUsers(world)
const connect = (token: string, id = 1) => ({ id, connect: { token } })

describe('framing', () => {
  test('the requested sub-protocol is confirmed, and none is required', async () => {
    expect((await opened({ protocols: ['centrifuge-json'] })).socket.protocol).toBe(
      'centrifuge-json',
    )
    expect((await opened({ protocols: ['centrifuge-protobuf'] })).socket.protocol).toBe(
      'centrifuge-protobuf',
    )
    expect((await opened()).socket.protocol).toBe('')
    // It counts for more than what the address asks for.
    const raw = await opened({ protocols: ['centrifuge-json'], query: '?format=protobuf' })
    expect((await raw.send(connect(ana().minted.wsToken)).reply(1)).connect).toBeDefined()
  })

  test.each(['?format=protobuf', '?cf_protocol=protobuf'])(
    '%s means Protobuf: text is malformed there',
    async (query) => {
      const raw = await opened({ query })
      raw.send(connect(ana().minted.wsToken))
      expect(await raw.closed).toEqual({ code: 3501, reason: 'bad request' })
    },
  )

  test('a plain GET of the address is not found', async () => {
    expect((await fetch(`${world().url}/connection/websocket`)).status).toBe(404)
  })

  test('a connect and hundreds of subscribes in one frame are answered in order', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => createGroup()))
    const raw = await opened()
    const wanted = Array.from({ length: 400 }, (_, index) =>
      index < 20
        ? channelTopic(ids[index] ?? '')
        : channelTopic(`019c9b1e-7a52-7cc1-8f0e-${String(index).padStart(12, '0')}`),
    )
    raw.send(
      connect(ana().minted.wsToken),
      ...wanted.map((channel, index) => ({ id: index + 2, subscribe: { channel } })),
    )
    await raw.reply(401)
    expect(raw.messages.flatMap(({ id }) => id ?? [])).toEqual(
      Array.from({ length: 401 }, (_, index) => index + 1),
    )
    expect(raw.messages.filter(({ subscribe }) => subscribe).map(({ id }) => id)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 2),
    )
    expect(raw.messages.slice(21, 401).every(({ error }) => error?.code === 103)).toBe(true)
  })

  test('commands after a failed connect are not carried out', async () => {
    const raw = await opened({}, await hurriedNode({ connectMs: 3_000 }))
    raw.send(
      connect(
        forge(ana().minted.wsToken, { payload: { iat: inSeconds(-100), exp: inSeconds(-50) } }),
      ),
      { id: 2, subscribe: { channel: userTopic(ana()) } },
    )
    expect((await raw.reply(1)).error.code).toBe(109)
    expect((await raw.closed).code).toBe(3502)
    expect(raw.messages).toHaveLength(1)
  })

  test('a frame of more than a mebibyte closes with 1009, one of a mebibyte does not', async () => {
    const raw = await connected()
    const line = JSON.stringify({ send: {} }).padEnd(4_095)
    const frame = `${Array.from({ length: 256 }, () => line).join('\n')}\n`
    raw.socket.send(frame)
    expect(await raw.ask({ id: 2, unsubscribe: { channel: 'x' } })).toBeDefined()
    raw.socket.send(`${frame} `)
    expect((await raw.closed).code).toBe(1009)
  })
})

describe('connecting', () => {
  test('an unknown origin is refused at the upgrade', async () => {
    await expect(opened({ origin: 'https://evil.example.com' })).rejects.toThrow('answered 403')
    await expect(opened({ origin: 'null' })).rejects.toThrow('answered 403')
    const otherPort = world().url.replace(/\d+$/, '1')
    await expect(opened({ origin: otherPort })).rejects.toThrow('answered 403')
    await opened({ origin: 'https://app.example.com' })
    await opened({ origin: world().url })
  })

  const bad: [string, (raw: RawSocket) => unknown][] = [
    [
      'a command before connect',
      (raw) => raw.send({ id: 1, subscribe: { channel: userTopic(ana()) } }),
    ],
    [
      'a second connect',
      (raw) => raw.send(connect(ana().minted.wsToken), connect(ana().minted.wsToken, 2)),
    ],
    ['an unknown command', (raw) => raw.send(connect(ana().minted.wsToken), { id: 2, dance: {} })],
    [
      'two requests in one command',
      (raw) => raw.send({ id: 1, connect: { token: ana().minted.wsToken }, rpc: {} }),
    ],
    [
      'a command without id',
      (raw) =>
        raw.send(connect(ana().minted.wsToken), { subscribe: { channel: userTopic(ana()) } }),
    ],
    ['an unasked pong', (raw) => raw.send(connect(ana().minted.wsToken), {})],
    ['no JSON', (raw) => raw.socket.send('hello')],
    ['an empty line', (raw) => raw.socket.send('\n')],
    ['an empty frame', (raw) => raw.socket.send('')],
    ['JSON that is no object', (raw) => raw.socket.send('[1]')],
    ['a field of the wrong type', (raw) => raw.send({ id: 1, connect: { token: 7 } })],
    ['an id beyond uint32', (raw) => raw.send({ ...connect(ana().minted.wsToken), id: 2 ** 32 })],
    [
      'a binary frame',
      (raw) => raw.socket.send(Buffer.from(JSON.stringify(connect(ana().minted.wsToken)))),
    ],
    ['a connect without token', (raw) => raw.send({ id: 1, connect: {} })],
  ]
  test.each(bad)('%s closes with 3501', async (_, misbehave) => {
    const raw = await opened()
    misbehave(raw)
    expect(await raw.closed).toEqual({ code: 3501, reason: 'bad request' })
  })

  test('a send needs no id and gets no reply; unknown fields are ignored', async () => {
    const raw = await connected()
    raw.send(
      { send: { data: { hello: 1 } } },
      { id: 2, unsubscribe: { channel: 'x', later: 1 }, more: true },
    )
    expect(await raw.reply(2)).toEqual({ id: 2, unsubscribe: {} })
    expect(raw.messages).toHaveLength(2)
  })

  test('a socket that does not connect in time is closed with 3502', async () => {
    const raw = await opened({}, await hurriedNode({ connectMs: 500 }))
    expect(await raw.closed).toEqual({ code: 3502, reason: 'stale' })
  })

  test('the reply to connect identifies the user and contains no subscription', async () => {
    const raw = await connected()
    const { connect: result } = await raw.reply(1)
    expect(result).toMatchObject({
      version: '0.2.0',
      expires: true,
      pong: true,
      data: { appId: world().appId, userId: 'ana', userTopic: userTopic(ana()) },
    })
    expect(result.ttl).toBeGreaterThan(86_000)
    expect(result.subs).toBeUndefined()
    expect(
      (await raw.ask({ id: 2, subscribe: { channel: userTopic(ana()) } })).subscribe,
    ).toBeDefined()
  })
})

describe('tokens', () => {
  const bad: [string, () => string][] = [
    ['garbage', () => 'garbage'],
    ['a tampered one', () => `${ana().minted.wsToken.slice(0, -4)}AAAA`],
    [
      'alg none',
      () => forge(ana().minted.wsToken, { header: { alg: 'none' } }).replace(/[^.]*$/, ''),
    ],
    ['an API token', () => ana().token],
    [
      'one of another secret',
      () => forge(ana().minted.wsToken, { secret: 'another secret, 32 bytes or longer' }),
    ],
    ['one of a former generation', () => forge(ana().minted.wsToken, { payload: { gen: 7 } })],
    [
      'one of a user who does not exist',
      () => forge(ana().minted.wsToken, { payload: { sub: `${world().appId}:nobody` } }),
    ],
  ]
  test.each(bad)('a token that is %s closes the socket with 3500', async (_, token) => {
    // Reconciliation is put off: if it came first, it would close the socket with 3503.
    const raw = await opened({}, await hurriedNode({ reconcileMs: 1_000_000 }))
    raw.send(connect(token()))
    expect(await raw.closed).toEqual({ code: 3500, reason: 'invalid token' })
  })

  test('an expired connection is closed with 3005, unless it refreshes in time', async () => {
    // Until then a busy machine verifies it, and within the grace it refreshes it.
    const exp = () => Date.now() / 1_000 + 1.4
    const short = () => forge(ana().minted.wsToken, { payload: { exp: exp() } })
    const node = await hurriedNode({ expiryGraceMs: 1_600 })
    const [idle, diligent] = [await opened({}, node), await opened({}, node)]
    for (const raw of [idle, diligent]) raw.send(connect(short()))
    expect((await diligent.reply(1)).connect.ttl).toBe(1)
    const refreshed = await diligent.ask({ id: 2, refresh: { token: ana().minted.wsToken } })
    expect(refreshed.refresh).toMatchObject({
      version: '0.2.0',
      expires: true,
      client: expect.any(String),
    })
    const pongs = setInterval(() => [idle, diligent].map(answerPings), 20)
    expect(await idle.closed).toEqual({ code: 3005, reason: 'connection expired' })
    clearInterval(pongs)
    expect(
      (
        await diligent.ask({
          id: 3,
          refresh: {
            token: forge(ana().minted.wsToken, {
              payload: { iat: inSeconds(-9), exp: inSeconds(-5) },
            }),
          },
        })
      ).error.code,
    ).toBe(109)
  })

  test("a refresh with another user's token closes with 3500", async () => {
    const raw = await connected()
    raw.send({ id: 2, refresh: { token: ben().minted.wsToken } })
    expect((await raw.closed).code).toBe(3500)
  })
})

describe('pings', () => {
  test('the server pings again after each pong', async () => {
    const raw = await connected(ana(), await hurriedNode({ pingMs: 700 }))
    await raw.ping(1)
    raw.send({})
    await raw.ping(2)
  })

  test('a socket that sends no pong is closed with 3012', async () => {
    const raw = await opened({}, await hurriedNode({ pingMs: 700, pongMs: 250 }))
    raw.send(connect(ana().minted.wsToken))
    expect(await raw.closed).toEqual({ code: 3012, reason: 'no pong' })
  })
})

const answered = new WeakMap<RawSocket, number>()
function answerPings(raw: RawSocket) {
  const pings = raw.messages.filter((message) => Object.keys(message).length === 0).length
  for (let count = answered.get(raw) ?? 0; count < pings; count++) raw.send({})
  answered.set(raw, pings)
}
