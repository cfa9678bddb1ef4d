import { describe, expect, test } from 'vitest'
import { badToken, forbidden, invalid, notFound, refusal } from '../support/refusal.ts'
import { createWorld, useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()

describe('syncing users', () => {
  test('rows of a user sync are validated one by one', async () => {
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

  test('the last of several rows of a user in one sync counts', async () => {
    const { backend } = world()
    const names = ['First', 'Second', 'Last']
    const users = names.map((name) => ({ id: 'repeated', name }))
    expect(await backend.users.sync({ users })).toMatchObject({ synced: 1, created: 1 })
    expect(await backend.users.get({ userId: 'repeated' })).toMatchObject({ name: 'Last' })
    expect(await backend.users.sync({ users })).toMatchObject({ synced: 1, created: 0, updated: 1 })
  })

  test('a user sync takes a thousand users in a body of megabytes, and no more', async () => {
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

  test('ten concurrent syncs of the same users create each user once', async () => {
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

describe('administering users', () => {
  test('in bearer mode any user administers the users of the same app', async () => {
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
    const again = await ana.users.sync({ users: [{ id: 'victim' }] })
    expect(again).toMatchObject({ synced: 1, created: 1, updated: 0 })
  })

  test('in server mode only API keys and admin tokens administer other users', async () => {
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
      // The operator may let the users of an app do what the server does not.
      const settings = { userAdminAccess: 'bearer' as const }
      await strict.operator.apps.update({ appId: strict.appId, settings })
      expect(await ana.users.put({ userId: 'cleo', name: 'C' })).toMatchObject({ name: 'C' })
      expect(await ana.users.delete({ userId: 'ana' })).toMatchObject({ deletedUserId: 'ana' })
    } finally {
      await strict.stop()
    }
  })
})

describe('deleting users', () => {
  test('deleting a user erases their data, voids their tokens and frees their id', async () => {
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
    const [row] = await world().db`
      select name, email, image, custom, last_active_at
      from users
      where app_id = ${world().appId} and id = 'del'`
    expect(row).toEqual({ name: null, email: null, image: null, custom: {}, lastActiveAt: null })
    expect(await refusal(del.channels.list())).toEqual(badToken)
    expect(await refusal(backend.users.get({ userId: 'del' }))).toEqual(notFound)
    expect(await refusal(backend.users.delete({ userId: 'del' }))).toEqual(notFound)
    expect(await refusal(backend.tokens.revoke({ userId: 'del' }))).toEqual(notFound)
    expect((await backend.users.list({ q: 'del' })).users).toEqual([])
    const again = await world().user('del')
    expect(again.minted.user).toEqual({ id: 'del', name: 'del', image: null })
    expect(await refusal(del.channels.list())).toEqual(badToken)
    expect((await again.preferences.get()).preferences.mentions).toBe(true)
    const devices = await world().db`
      select from devices
      where app_id = ${world().appId}
        and user_id = 'del'`
    expect(devices).toHaveLength(0)
  })

  test('bulk-delete ignores unknown ids, and overlapping calls delete each user once', async () => {
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
