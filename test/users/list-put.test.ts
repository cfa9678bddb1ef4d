import { limits } from '@parley/contract'
import { describe, expect, test } from 'vitest'
import { insertUsers } from '../support/inserted.ts'
import { invalid, notFound, refusal, refusals } from '../support/refusal.ts'
import { rest } from '../support/rest.ts'
import { RawSocket } from '../support/socket.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

describe('listing users', () => {
  test('users are listed by name and id, in pages, without users of other apps', async () => {
    const backend = await world().stranger()
    await backend.users.sync({
      users: [
        { id: 'u3', name: 'Cleo' },
        { id: 'u2', name: 'Ana' },
        { id: 'u1', name: 'Ana' },
        { id: 'Dora' },
      ],
    })
    const names = async (args?: { limit?: number; offset?: number }) =>
      (await backend.users.list(args)).users.map(({ id }) => id)
    expect(await names()).toEqual(['u1', 'u2', 'u3', 'Dora'])
    expect(await names({ limit: 2, offset: 1 })).toEqual(['u2', 'u3'])
    const { token } = await backend.tokens.create({ userId: 'u1' })
    expect((await world().api({ token }).users.list()).users).toHaveLength(4)
    expect(
      (await world().backend.users.list({ limit: 100 })).users.map(({ id }) => id),
    ).not.toContain('u3')
  })

  test('a listed user has name, image, activity and presence, and nothing private', async () => {
    await world().backend.users.put({
      userId: 'shown',
      name: 'Shown',
      image: 'https://example.com/s.png',
      email: 's@example.com',
      custom: { a: 1 },
    })
    const { users } = await (await world().user('shown')).users.list({ q: 'Shown' })
    expect(users).toEqual([
      {
        id: 'shown',
        name: 'Shown',
        image: 'https://example.com/s.png',
        lastActiveAt: expect.any(String),
        online: false,
        presenceVersion: 0,
      },
    ])
  })

  test('up to 100 ids are looked up at once; unknown and foreign ones are left out', async () => {
    const stranger = await world().stranger()
    await stranger.users.put({ userId: 'foreign' })
    const [ana] = await world().users('look-b', 'look-a', 'look,c')
    await world().backend.users.delete({ userId: 'look-a' })
    const ids = ['look-b', 'nobody', 'foreign', 'look-a', 'look,c', 'look-b', 'no id at all']
    const { users, nextCursor } = await ana.users.list({ ids: ['look-b', 'nobody', 'foreign'] })
    expect([users.map(({ id }) => id), nextCursor]).toEqual([['look-b'], null])
    expect(users[0]).toEqual(await ana.users.list({ q: 'look-b' }).then(({ users: [one] }) => one))
    const get = rest(world(), ana)
    const found = async (query: string) => {
      const { body } = await get('GET', `/api/users?${query}`)
      return body.users?.map(({ id }: { id: string }) => id) ?? body.error.code
    }
    expect(await found('ids=look-b,nobody')).toEqual(['look-b'])
    expect(await found(ids.map((id) => `ids=${encodeURIComponent(id)}`).join('&'))).toEqual([
      'look,c',
      'look-b',
    ])
    const many = Array.from({ length: 101 }, (_, index) => `id${index}`)
    expect(await found(`ids=look-b,${many.slice(2).join()}`)).toEqual(['look-b'])
    for (const refused of [
      `ids=${many}`,
      'ids=a&q=a',
      'ids=a&offset=1',
      'ids=a%00',
      'ids=a&cursor=x',
    ])
      expect([refused, await found(refused)]).toEqual([refused, 'VALIDATION_ERROR'])
    expect((await fetch(`${world().url}/api/users?ids=look-b`)).status).toBe(401)
  })

  test('a page of users holds 50 by default and at most 100', async () => {
    const ids = await insertUsers(world(), 'many', 101)
    const count = async (limit?: number) =>
      (await world().backend.users.list({ q: 'many', ...(limit && { limit }) })).users.length
    expect([await count(), await count(500)]).toEqual([50, 100])
    expect(await refusal(world().backend.users.list({ limit: 0 }))).toEqual(invalid)
    const named = await world().backend.users.list({ ids: ids.slice(1) })
    expect([named.users.length, named.nextCursor]).toEqual([100, null])
  })

  test('users are found by part of their name, in any case and without wildcards', async () => {
    const backend = await world().stranger()
    await backend.users.sync({
      users: [
        { id: 'a', name: '100% Élan' },
        { id: 'b', name: 'snake_case' },
        { id: 'c', name: 'back\\slash' },
        { id: 'd', name: 'plain' },
      ],
    })
    const found = async (q: string) => (await backend.users.list({ q })).users.map(({ id }) => id)
    expect(await found('%')).toEqual(['a'])
    expect(await found('_')).toEqual(['b'])
    expect(await found('\\')).toEqual(['c'])
    expect(await found('éLAN')).toEqual(['a'])
    expect(await found('PLA')).toEqual(['d'])
  })

  test('a connected user is online', async () => {
    const ana = await world().user('online-ana')
    const { socket } = await RawSocket.connect(world(), ana)
    expect((await ana.users.get({ userId: 'online-ana' })).online).toBe(true)
    expect((await ana.users.list({ q: 'online-ana' })).users[0]?.online).toBe(true)
    socket.terminate()
  })

  test('a user whose sockets were on a server that died is not online', async () => {
    const ana = await world().user('cut-off')
    const { db, appId } = world()
    await db`
      insert into nodes (id, beat_at)
      values ('dead node', now() - interval '10 minutes')`
    await db`
      insert into connections (node_id, app_id, user_id)
      values ('dead node', ${appId}, 'cut-off')`
    expect((await ana.users.get({ userId: 'cut-off' })).online).toBe(false)
    expect((await ana.users.list({ q: 'cut-off' })).users[0]?.online).toBe(false)
  })
})

describe('getting and putting a user', () => {
  test('only the user and backends see the e-mail address of a user', async () => {
    await world().backend.users.put({
      userId: 'mia',
      name: 'Mia',
      email: 'mia@example.com',
      custom: { plan: 'pro' },
    })
    const mia = await world().user('mia')
    const ben = await world().user('ben')
    expect(await mia.users.get({ userId: 'mia' })).toMatchObject({
      name: 'Mia',
      email: 'mia@example.com',
      custom: { plan: 'pro' },
    })
    expect(await world().backend.users.get({ userId: 'mia' })).toMatchObject({
      email: 'mia@example.com',
    })
    expect(await ben.users.get({ userId: 'mia' })).not.toHaveProperty('email')
    expect(await refusal(ben.users.get({ userId: 'nobody' }))).toEqual(notFound)
    expect(await refusal((await world().stranger()).users.get({ userId: 'mia' }))).toEqual(notFound)
  })

  test('PUT creates or updates a user: absent keeps, and null clears', async () => {
    const { backend } = world()
    const created = await backend.users.put({
      userId: 'pat',
      name: 'Pat',
      email: 'pat@example.com',
      custom: { a: 1, b: 2 },
    })
    expect(created).toEqual({
      id: 'pat',
      name: 'Pat',
      image: null,
      email: 'pat@example.com',
      custom: { a: 1, b: 2, email: 'pat@example.com' },
    })
    expect(await backend.users.put({ userId: 'pat', custom: { c: 3 } })).toMatchObject({
      name: 'Pat',
      custom: { c: 3, email: 'pat@example.com' },
    })
    expect(
      await backend.users.put({ userId: 'pat', name: null, email: null, custom: null }),
    ).toEqual({
      id: 'pat',
      name: 'pat',
      image: null,
      email: null,
      custom: {},
    })
    expect((await backend.users.get({ userId: 'pat' })).custom).toEqual({})
  })
})

test('every operation that administers users answers 200, even when it creates one', async () => {
  const call = rest(world(), await world().user('status'))
  expect(await call('PUT', '/api/users/status-1', { name: 'One' })).toMatchObject({
    status: 200,
    body: { id: 'status-1', name: 'One' },
  })
  const synced = await call('POST', '/api/users/sync', { users: [{ id: 'status-2' }] })
  expect(synced).toEqual({ status: 200, body: { synced: 1, created: 1, updated: 0, errors: [] } })
  const deleted = await call('POST', '/api/users/bulk-delete', { userIds: ['status-2'] })
  expect(deleted).toEqual({ status: 200, body: { success: true, deleted: ['status-2'], count: 1 } })
  expect(await call('DELETE', '/api/users/status-1')).toEqual({
    status: 200,
    body: { success: true, deletedUserId: 'status-1' },
  })
})

test('a changed profile keeps lastActiveAt', async () => {
  await world().user('kept-ana')
  const { backend } = world()
  const before = (await backend.users.get({ userId: 'kept-ana' })).lastActiveAt
  expect(before).toEqual(expect.any(String))
  await backend.users.put({ userId: 'kept-ana', name: 'Kept' })
  expect((await backend.users.get({ userId: 'kept-ana' })).lastActiveAt).toBe(before)
})

test('lastActiveAt is updated shortly after sends and reads', async () => {
  const { db, appId } = world()
  const ana = await world().user('busy-ana')
  const ben = await world().user('busy-ben')
  const channel = await ana.channels.create({
    type: 'group',
    name: 'Busy',
    memberIds: ['busy-ben'],
  })
  await db`
    update users
    set last_active_at = '2020-01-01'
    where app_id = ${appId} and id like 'busy-%'`
  await ana.messages.send({ channelId: channel.id, text: 'hi' })
  await ben.reads.mark({ channelId: channel.id })
  const year = async (userId: string) => (await ana.users.get({ userId })).lastActiveAt?.slice(0, 4)
  await expect.poll(() => year('busy-ana')).not.toBe('2020')
  await expect.poll(() => year('busy-ben')).not.toBe('2020')
})

test('the metadata of a user has at most 16 KB and 20 levels', async () => {
  const put = (custom: object) =>
    world().backend.users.put({ userId: 'rex', custom: custom as Record<string, unknown> })
  const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) })
  const sized = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) })
  const { customBytes, customDepth } = limits
  for (const custom of [nested(customDepth), sized(customBytes)])
    expect((await put(custom)).custom).toEqual(custom)
  expect(
    await refusals([put(nested(customDepth + 1)), put(sized(customBytes + 1)), put([])]),
  ).toEqual([invalid, invalid, invalid])
})
