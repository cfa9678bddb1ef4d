import { topics } from '@parley/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../support/until.ts'
import { createWorld, useSharedWorld } from '../../support/world.ts'
import { useSocketUsers } from '../sockets.ts'

const world = useSharedWorld()
const { ana, ben, connected, createGroup, channelTopic, userTopic } = useSocketUsers(world)

describe('topics and commands', () => {
  test('foreign topics are refused with 103, a second subscribe with 105', async () => {
    const channelId = await createGroup()
    const raw = await connected(ben())
    const foreign = [
      channelTopic(channelId),
      userTopic(ana()),
      topics.user(channelId, 'ben'),
      `chat:${world().appId}`,
      'chat',
      `chat:${world().appId}:${channelId}:x`,
      `CHAT:${world().appId}:${channelId}`,
      channelTopic(channelId.toUpperCase()),
    ]
    for (const [index, channel] of foreign.entries())
      expect((await raw.ask({ id: index + 2, subscribe: { channel } })).error.code, channel).toBe(
        103,
      )
    raw.send(
      { id: 20, subscribe: { channel: userTopic(ben()) } },
      { id: 21, subscribe: { channel: userTopic(ben()) } },
    )
    expect((await raw.reply(20)).subscribe).toMatchObject({
      recoverable: true,
      positioned: true,
      epoch: expect.any(String),
    })
    expect((await raw.reply(21)).error.code).toBe(105)
    expect((await raw.ask({ id: 22, subscribe: { channel: userTopic(ben()) } })).error.code).toBe(
      105,
    )
    expect(await raw.ask({ id: 23, unsubscribe: { channel: userTopic(ben()) } })).toEqual({
      id: 23,
      unsubscribe: {},
    })
    expect(
      (await raw.ask({ id: 24, subscribe: { channel: userTopic(ben()) } })).subscribe,
    ).toBeDefined()
  })

  test('everyone subscribes to a public channel, and only readers to a team one', async () => {
    const open = await ana().channels.create({ type: 'public', name: 'Square' })
    const team = await ana().channels.create({ type: 'team', name: 'Team' })
    const raw = await connected(ben())
    expect(
      (await raw.ask({ id: 2, subscribe: { channel: channelTopic(open.id) } })).subscribe,
    ).toBeDefined()
    expect(
      (await raw.ask({ id: 3, subscribe: { channel: channelTopic(team.id) } })).error.code,
    ).toBe(103)
  })

  test('a socket holds a thousand topics, and the next is refused with 106', async () => {
    const { db, appId } = world()
    const rows = await db<{ id: string }[]>`
      insert into channels (id, app_id, cid, type, created_by, name)
      select gen_random_uuid(), ${appId}, 'public:many-' || n, 'public', 'ana', 'x'
      from generate_series(1, 1001) n
      returning id`
    const raw = await connected()
    raw.send(
      ...rows.map(({ id }, index) => ({ id: index + 2, subscribe: { channel: channelTopic(id) } })),
    )
    expect((await raw.reply(1002)).error.code).toBe(106)
    expect(raw.messages.filter(({ subscribe }) => subscribe)).toHaveLength(1000)
  })

  test('clients write through REST: publish is 103, rpc and ping are 108', async () => {
    const raw = await connected()
    expect(
      (await raw.ask({ id: 2, publish: { channel: userTopic(ana()), data: {} } })).error,
    ).toEqual({
      code: 103,
      message: 'permission denied',
    })
    expect((await raw.ask({ id: 3, rpc: { method: 'x', data: {} } })).error.code).toBe(108)
    expect((await raw.ask({ id: 4, ping: {} })).error.code).toBe(108)
  })

  test('history returns the position, all events, or a part in either direction', async () => {
    const channelId = await createGroup('ben')
    for (const text of ['a', 'b', 'c']) await ana().messages.send({ channelId, text })
    const raw = await connected()
    const ask = async (id: number, request: object) =>
      (await raw.ask({ id, history: { channel: channelTopic(channelId), ...request } })).history
    const { epoch, offset: top, publications } = await ask(2, {})
    expect([top, publications]).toEqual([5, undefined])
    const offsets = async (id: number, request: object) =>
      (await ask(id, request)).publications?.map(({ offset }: { offset: number }) => offset)
    expect(await offsets(3, { limit: -1 })).toEqual([1, 2, 3, 4, 5])
    expect(await offsets(4, { limit: 2, since: { offset: 2, epoch } })).toEqual([3, 4])
    expect(await offsets(5, { limit: 2, since: { offset: 4, epoch }, reverse: true })).toEqual([
      3, 2,
    ])
    expect(
      (
        await raw.ask({
          id: 6,
          history: {
            channel: channelTopic(channelId),
            limit: 1,
            since: { offset: 1, epoch: 'other' },
          },
        })
      ).error.code,
    ).toBe(112)
    expect((await raw.ask({ id: 7, history: { channel: userTopic(ben()) } })).error.code).toBe(103)
  })

  test('a history has at most 5,000 events, whatever limit is asked for', async () => {
    const channelId = await createGroup()
    const topic = channelTopic(channelId)
    await world().db`
      insert into events (topic, "offset", type, envelope)
      select ${topic}, n, 'message.updated', '{}'
      from generate_series(100, 5200) n`
    await world().db`update channels set rev = 5200 where id = ${channelId}`
    const raw = await connected()
    const ask = async (id: number, limit: number) =>
      (await raw.ask({ id, history: { channel: topic, limit } })).history.publications.length
    expect([await ask(2, 5_100), await ask(3, -1), await ask(4, 4_999)]).toEqual([
      5_000, 5_000, 4_999,
    ])
  })

  test('presence lists the subscriptions of a topic, on all nodes', async () => {
    const [eva, fay] = await world().users('eva', 'fay')
    const { id: channelId } = await eva.channels.create({
      type: 'group',
      name: 'Talk',
      memberIds: ['fay'],
    })
    const channel = channelTopic(channelId)
    const node = await createWorld({ databaseUrl: world().databaseUrl })
    onTestFinished(node.stop)
    // One that is only connected does not count.
    const [raw, second, away] = [await connected(eva), await connected(eva), await connected(fay)]
    const clients = [raw, await connected(eva), await connected(fay, node)]
    for (const client of clients) await client.ask({ id: 2, subscribe: { channel } })
    const { presence } = (await second.ask({ id: 3, presence: { channel } })).presence
    const ids = clients.map(({ messages }) => messages[0]?.connect.client)
    expect(presence).toEqual({
      [ids[0]]: { user: 'eva', client: ids[0] },
      [ids[1]]: { user: 'eva', client: ids[1] },
      [ids[2]]: { user: 'fay', client: ids[2] },
    })
    const stats = (await raw.ask({ id: 4, presence_stats: { channel } })).presence_stats
    expect(stats).toEqual({ num_clients: 3, num_users: 2 })
    expect((await away.ask({ id: 5, presence: { channel: userTopic(eva) } })).error.code).toBe(103)
  })

  test('presence shows later subscribers, and none that left, after a moment', async () => {
    const channelId = await createGroup()
    const channel = channelTopic(channelId)
    const [raw, other] = [await connected(), await connected()]
    let id = 10
    const clients = async () => {
      const { presence } = (await raw.ask({ id: id++, presence: { channel } })).presence
      return Object.keys(presence).length
    }
    await raw.ask({ id: 2, subscribe: { channel } })
    expect(await clients()).toBe(1)
    await other.ask({ id: 2, subscribe: { channel } })
    await until(async () => (await clients()) === 2)
    await other.ask({ id: 3, unsubscribe: { channel } })
    await until(async () => (await clients()) === 1)
  })

  test('a subscribe that asks for joins and leaves is refused with 108', async () => {
    const raw = await connected()
    const channel = userTopic(ana())
    const refused = await raw.ask({ id: 2, subscribe: { channel, join_leave: true } })
    expect(refused.error.code).toBe(108)
    expect((await raw.ask({ id: 3, subscribe: { channel } })).subscribe).toBeDefined()
  })

  test.each([{}, { channel: '' }])('a subscribe with %j closes with 3501', async (request) => {
    const raw = await connected()
    raw.send({ id: 2, subscribe: request })
    expect(await raw.closed).toEqual({ code: 3501, reason: 'bad request' })
  })

  test('a flood of commands is refused with 111, then closed with 3013', async () => {
    const raw = await connected()
    const flood = Array.from({ length: 1_700 }, (_, index) => ({
      id: index + 2,
      unsubscribe: { channel: 'x' },
    }))
    raw.send(...flood)
    raw.send(...flood)
    raw.send(...flood)
    expect((await raw.closed).code).toBe(3013)
    expect(raw.messages.some(({ error }) => error?.code === 111 && error.temporary)).toBe(true)
  })
})
