import { limits } from '@parley/contract'
import { describe, expect, test } from 'vitest'
import { processorMs } from '../../support/cpu.ts'
import { whileRowLocked } from '../../support/locks.ts'
import type { RawSocket } from '../../support/socket.ts'
import { useWorld } from '../../support/world.ts'
import { useSocketUsers } from '../sockets.ts'

const world = useWorld()
const { ana, opened, connected, userTopic } = useSocketUsers(world)
/** Far less than decoding these frames takes, and a lot for a slow machine. */
const BOUND_MS = 1_000
const SOCKETS = 8

const { frameBytes, commandBytes } = limits.realtime
const filled = (line: string) => line.repeat(Math.floor(frameBytes / line.length))
const nested = (depth: number) =>
  `{"id":1,"send":{"data":${'['.repeat(depth)}${']'.repeat(depth)}}}`
const frames: [string, string | Buffer][] = [
  ['lines of {}', filled('{}\n')],
  ['empty lines', filled('\n')],
  ['lines of sends', filled('{"send":{}}\n')],
  ['one deep object', nested(500_000)],
  ['empty Protobuf messages', Buffer.alloc(frameBytes)],
  ['Protobuf sends', Buffer.from('\x02\x62\x00'.repeat(frameBytes / 4), 'latin1')],
]

const openFor = (frame: string | Buffer) =>
  opened({ protocols: typeof frame === 'string' ? [] : ['centrifuge-protobuf'] })

describe('before connect', () => {
  test.each(frames)('a mebibyte of %s closes its socket and costs little', async (_, frame) => {
    const sockets = await Promise.all(Array.from({ length: SOCKETS }, () => openFor(frame)))
    const attack = async () => {
      for (const { socket } of sockets) socket.send(frame)
      for (const { closed } of sockets) expect((await closed).code).toBe(3501)
    }
    expect(await processorMs(attack)).toBeLessThan(BOUND_MS)
  })

  test('a socket gets one command of 4 KB, and closes with 3501 for more', async () => {
    const connect = (padding: number) => ({
      id: 1,
      connect: { token: ana().minted.wsToken },
      padding: 'x'.repeat(padding),
    })
    const room = commandBytes - JSON.stringify(connect(0)).length
    const short = await opened()
    short.send(connect(room))
    expect((await short.reply(1)).connect).toBeDefined()
    const long = await opened()
    long.send(connect(room + 1))
    expect(await long.closed).toEqual({ code: 3501, reason: 'bad request' })
    expect(long.messages).toEqual([])
  })

  test('commands after a refused connect are not decoded', async () => {
    const raw = await opened()
    raw.socket.send(`${JSON.stringify({ id: 1, connect: { token: 'bad' } })}\nno JSON`)
    expect(await raw.closed).toEqual({ code: 3500, reason: 'invalid token' })
  })

  test('a socket that sends more than a frame before it is connected is closed', async () => {
    const raw = await opened()
    const { id, minted } = await world().user('hasty')
    const connect = JSON.stringify({ id: 1, connect: { token: minted.wsToken } })
    await whileRowLocked(
      world(),
      // This keeps the user from being written as online.
      (sql) => sql`
        select
        from users
        where app_id = ${world().appId}
          and id = ${id}
        for update`,
      async () => {
        raw.socket.send(`${connect}\n${filled('{"send":{}}\n').slice(0, 600_000)}`)
        raw.socket.send(filled('{"send":{}}\n').slice(0, 600_000))
        expect((await raw.closed).code).toBe(3501)
      },
    )
  })
})

describe('after connect', () => {
  const closedWith = async (raw: RawSocket, frame: string) => {
    raw.socket.send(frame)
    return (await raw.closed).code
  }
  const floods: [string, string, number][] = [
    ['lines of {}', filled('{}\n'), 3501],
    ['empty lines', filled('\n'), 3501],
    ['one deep object', nested(500_000), 3501],
    ['sends', filled('{"send":{}}\n'), 3013],
    ['calls', filled('{"id":7,"rpc":{}}\n'), 3013],
  ]
  test.each(floods)('a mebibyte of %s is decoded as far as the credit goes', async (...flood) => {
    const [, frame, code] = flood
    const sockets = await Promise.all(Array.from({ length: SOCKETS }, () => connected()))
    const attack = async () => {
      const codes = await Promise.all(sockets.map((raw) => closedWith(raw, frame)))
      expect(codes).toEqual(sockets.map(() => code))
    }
    expect(await processorMs(attack)).toBeLessThan(BOUND_MS * 1.5)
  })

  const channel = () => userTopic(ana())
  const commands: Record<string, () => object> = {
    subscribe: () => ({ channel: `chat:${world().appId}:${crypto.randomUUID()}` }),
    unsubscribe: () => ({ channel: channel() }),
    publish: () => ({ channel: channel(), data: {} }),
    presence: () => ({ channel: 'chat' }),
    presence_stats: () => ({ channel: 'chat' }),
    history: () => ({ channel: 'chat', limit: -1 }),
    ping: () => ({}),
    rpc: () => ({ method: 'x', data: {} }),
    sub_refresh: () => ({ channel: channel() }),
  }
  test.each(Object.entries(commands))('2,400 commands %s cost little', async (name, request) => {
    const raw = await connected()
    const many = Array.from({ length: 2_400 }, (_, index) => ({ id: index + 2, [name]: request() }))
    const attack = async () => {
      raw.send(...many)
      await raw.reply(2_401)
    }
    expect(await processorMs(attack)).toBeLessThan(BOUND_MS)
  })

  test('a command over 4 KB closes with 3501, a frame of many short ones does not', async () => {
    const raw = await connected()
    raw.send(...Array.from({ length: 250 }, () => ({ send: { data: 'x'.repeat(4_000) } })))
    expect(await raw.ask({ id: 2, unsubscribe: { channel: 'x' } })).toBeDefined()
    expect(await closedWith(raw, JSON.stringify({ send: { data: 'x'.repeat(4_100) } }))).toBe(3501)
  })

  test.each([2 ** 31, 2 ** 40, 2 ** 53, -1, 0.5])('the offset %s is malformed', async (offset) => {
    const [subscriber, reader] = [await connected(), await connected()]
    subscriber.send({ id: 2, subscribe: { channel: channel(), recover: true, offset } })
    reader.send({ id: 2, history: { channel: channel(), limit: 1, since: { offset } } })
    for (const { closed } of [subscriber, reader])
      expect(await closed).toEqual({ code: 3501, reason: 'bad request' })
  })
})
