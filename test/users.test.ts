import { describe, expect, test } from 'vitest'
import { insertCrowd } from './support/inserted.ts'
import { badToken, forbidden, invalid, notFound, refusal } from './support/refusal.ts'
import { rest } from './support/rest.ts'
import { RawSocket } from './support/socket.ts'
import { createWorld, useWorld } from './support/world.ts'

const world = useWorld()

describe('listing', () => {
  test('users come by name, then id, page by page, without those of other apps', async () => {
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

  test('shows name, image, when last active and whether online, and nothing that is for oneself', async () => {
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
      },
    ])
  })

  test('answers at most 100, and 50 unless told', async () => {
    await insertCrowd(world(), 'many', 101)
    const count = async (limit?: number) =>
      (await world().backend.users.list({ q: 'many', ...(limit && { limit }) })).users.length
    expect([await count(), await count(500)]).toEqual([50, 100])
    expect(await refusal(world().backend.users.list({ limit: 0 }))).toEqual(invalid)
  })

  test('q finds a part of the name in any case; %, _ and \\ are plain characters', async () => {
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
})

describe('a single user', () => {
  test('the e-mail address is for the user and for backends only', async () => {
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

  test('PUT creates and updates: absent keeps, null clears, custom is replaced whole and answered with the e-mail', async () => {
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

test('all that administers users answers 200, also what creates', async () => {
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

describe('sync', () => {
  test('rows are judged one by one', async () => {
    const { backend } = world()
    await backend.users.put({ userId: 's1', name: 'Old', image: 'https://example.com/1.png' })
    const users = [
      { id: 's1', name: 'New' },
      { id: 's2', custom: { x: 1 } },
      { id: 'bad id' },
      { id: 's3', email: 'nonsense' },
      'not a user',
      { name: 'No id' },
    ]
    const answer = await backend.users.sync({ users: users as never })
    expect(answer).toMatchObject({ synced: 2, created: 1, updated: 1 })
    expect(answer.errors.map(({ id }) => id)).toEqual(['bad id', 's3', null, null])
    expect(answer.errors[1]?.message).toMatch(/^email: /)
    expect(await backend.users.get({ userId: 's1' })).toMatchObject({
      name: 'New',
      image: 'https://example.com/1.png',
    })
    expect(await refusal(backend.users.get({ userId: 's3' }))).toEqual(notFound)
  })

  test('a thousand users in a body of megabytes are taken, one more is not', async () => {
    const backend = await world().stranger()
    const users = Array.from({ length: 1_000 }, (_, index) => ({
      id: `u${index}`,
      name: `User ${index}`,
      custom: { note: 'x'.repeat(3_000) },
    }))
    expect(await backend.users.sync({ users })).toMatchObject({
      synced: 1_000,
      created: 1_000,
      errors: [],
    })
    expect(await refusal(backend.users.sync({ users: [...users, { id: 'one-more' }] }))).toEqual(
      invalid,
    )
    const tooLarge = users.map((user) => ({ ...user, custom: { note: 'x'.repeat(5_000) } }))
    expect(await refusal(backend.users.sync({ users: tooLarge }))).toEqual({
      status: 413,
      code: 'PAYLOAD_TOO_LARGE',
    })
  })

  test('the same users ten times at once: each is created once', async () => {
    const backend = await world().stranger()
    const users = Array.from({ length: 200 }, (_, index) => ({
      id: `r${index}`,
      name: `R ${index}`,
    }))
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, round) =>
        backend.users.sync({ users: round % 2 ? users : users.toReversed() }),
      ),
    )
    expect(answers.map(({ synced, errors }) => [synced, errors.length])).toEqual(
      answers.map(() => [200, 0]),
    )
    expect(answers.reduce((sum, { created }) => sum + created, 0)).toBe(200)
  })
})

describe('rights over users', () => {
  test('in bearer mode any user of the app administers, never one of another app', async () => {
    const ana = await world().user('boss')
    await world().user('victim')
    const { token } = await (await world().stranger()).tokens.create({ userId: 'boss' })
    expect(await refusal(world().api({ token }).users.delete({ userId: 'victim' }))).toEqual(
      notFound,
    )
    expect(await ana.users.put({ userId: 'victim', name: 'V' })).toMatchObject({ name: 'V' })
    expect(await ana.users.delete({ userId: 'victim' })).toEqual({
      success: true,
      deletedUserId: 'victim',
    })
  })

  test('in server mode others are administered with the API key or an admin token only, oneself always', async () => {
    const strict = await createWorld({ userAdminAccess: 'server' })
    try {
      const ana = await strict.user('ana')
      await strict.user('ben')
      expect(await refusal(ana.users.put({ userId: 'ben', name: 'B' }))).toEqual(forbidden)
      expect(await refusal(ana.users.sync({ users: [{ id: 'ana' }, { id: 'ben' }] }))).toEqual(
        forbidden,
      )
      expect(await refusal(ana.users.bulkDelete({ userIds: ['ben'] }))).toEqual(forbidden)
      expect(await refusal(ana.users.delete({ userId: 'ben' }))).toEqual(forbidden)
      await strict.backend.users.put({ userId: 'ana', custom: { admin: true } })
      expect(await refusal(ana.users.delete({ userId: 'ben' }))).toEqual(forbidden)
      expect(await ana.users.put({ userId: 'ana', name: 'Ana' })).toMatchObject({ name: 'Ana' })
      expect(await ana.users.sync({ users: [{ id: 'ana' }] })).toMatchObject({ updated: 1 })

      const { token } = await strict.backend.tokens.create({ userId: 'admin', admin: true })
      const admin = strict.api({ token })
      expect(await admin.users.put({ userId: 'ben', name: 'B' })).toMatchObject({ name: 'B' })
      expect(await admin.users.bulkDelete({ userIds: ['ben'] })).toMatchObject({ deleted: ['ben'] })
      expect(await strict.backend.users.put({ userId: 'cleo' })).toMatchObject({ id: 'cleo' })
      expect(await ana.users.delete({ userId: 'ana' })).toMatchObject({ deletedUserId: 'ana' })
    } finally {
      await strict.stop()
    }
  })
})

describe('deletion', () => {
  test('wipes the user at once and ends his tokens; the same id later is a new user', async () => {
    const { backend } = world()
    await backend.users.put({
      userId: 'del',
      name: 'Del',
      email: 'del@example.com',
      custom: { a: 1 },
    })
    const del = await world().user('del')
    await del.devices.create({ platform: 'ios', provider: 'apns', token: 'del-token' })
    await del.preferences.update({ mentions: false })
    expect(await backend.users.delete({ userId: 'del' })).toEqual({
      success: true,
      deletedUserId: 'del',
    })
    expect(await refusal(del.channels.list())).toEqual(badToken)
    expect(await refusal(backend.users.get({ userId: 'del' }))).toEqual(notFound)
    expect(await refusal(backend.users.delete({ userId: 'del' }))).toEqual(notFound)
    expect(await refusal(backend.tokens.revoke({ userId: 'del' }))).toEqual(notFound)
    expect((await backend.users.list({ q: 'del' })).users).toEqual([])
    const again = await world().user('del')
    expect(again.minted.user).toEqual({ id: 'del', name: 'del', image: null })
    expect(await refusal(del.channels.list())).toEqual(badToken)
    expect((await again.preferences.get()).preferences.mentions).toBe(true)
    expect(await world().db`select from devices where user_id = 'del'`).toHaveLength(0)
  })

  test('bulk-delete leaves unknown ids out; overlapping ones delete each user once', async () => {
    const backend = await world().stranger()
    const ids = Array.from({ length: 30 }, (_, index) => `b${index}`)
    await backend.users.sync({ users: ids.map((id) => ({ id })) })
    expect(await backend.users.bulkDelete({ userIds: ['b0', 'nobody', 'b0'] })).toEqual({
      success: true,
      deleted: ['b0'],
      count: 1,
    })
    const sets = Array.from({ length: 8 }, (_, round) =>
      round % 2 ? ids.slice(round) : ids.slice(round).toReversed(),
    )
    const answers = await Promise.all(sets.map((userIds) => backend.users.bulkDelete({ userIds })))
    expect(answers.flatMap(({ deleted }) => deleted).sort()).toEqual(
      ids
        .slice(1)
        .filter((id) => sets.some((set) => set.includes(id)))
        .sort(),
    )
  })
})

test('lastActiveAt follows sends and reads, soon and not at once', async () => {
  const { db, appId } = world()
  const ana = await world().user('busy-ana')
  const ben = await world().user('busy-ben')
  const channel = await ana.channels.create({
    type: 'group',
    name: 'Busy',
    memberIds: ['busy-ben'],
  })
  await db`update users set last_active_at = '2020-01-01' where app_id = ${appId} and id like 'busy-%'`
  await ana.messages.send({ channelId: channel.id, text: 'hi' })
  await ben.reads.mark({ channelId: channel.id })
  const year = async (userId: string) => (await ana.users.get({ userId })).lastActiveAt?.slice(0, 4)
  await expect.poll(() => year('busy-ana')).not.toBe('2020')
  await expect.poll(() => year('busy-ben')).not.toBe('2020')
})
