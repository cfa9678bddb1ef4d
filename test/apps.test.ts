import { expect, test } from 'vitest'
import { waitingForRows, whileRowLocked, whileUserLocked } from './support/locks.ts'
import { invalid, notFound, refusal, refusals, unauthorized } from './support/refusal.ts'
import { ADMIN_KEY, useWorld } from './support/world.ts'

const world = useWorld()

test("a new app's key works at once and is stored as a hash only", async () => {
  const { api, db } = world()
  const app = await api({ adminKey: ADMIN_KEY }).apps.create({ name: 'Acme Talk' })
  expect(app.name).toBe('Acme Talk')
  expect((await api({ apiKey: app.apiKey }).tokens.create({ userId: 'ana' })).appId).toBe(app.id)
  const [stored] = await db<{ tables: string }[]>`
    select jsonb_build_array(
      (select jsonb_agg(ak) from api_keys ak),
      (select jsonb_agg(a) from apps a)
    )::text as tables`
  expect(stored?.tables).toContain(app.id)
  expect(stored?.tables).not.toContain(app.apiKey)
})

test('apps with the same name are different apps', async () => {
  const operator = world().api({ adminKey: ADMIN_KEY })
  const [one, two] = await Promise.all([
    operator.apps.create({ name: 'Duplicate' }),
    operator.apps.create({ name: 'Duplicate' }),
  ])
  expect(one.id).not.toBe(two.id)
  expect(one.apiKey).not.toBe(two.apiKey)
})

test('apps are listed in pages, oldest first', async () => {
  const { operator } = world()
  const made = []
  for (const name of ['Z', 'Y', 'X']) made.push((await operator.apps.create({ name })).id)
  const ids = async (page: { limit?: number; offset?: number }) =>
    (await operator.apps.list(page)).apps.map(({ id }) => id)
  const all = await ids({ limit: 100 })
  expect(all.slice(-3)).toEqual(made)
  expect(await ids({ limit: 2, offset: all.length - 3 })).toEqual(made.slice(0, 2))
  expect(await ids({ limit: 2, offset: all.length - 1 })).toEqual(made.slice(2))
})

test('only the operator creates apps', async () => {
  const { api, apiKey, user } = world()
  const { token } = await user('ana')
  for (const credentials of [
    {},
    { adminKey: '' },
    { adminKey: `${ADMIN_KEY}x` },
    { apiKey },
    { token },
  ]) {
    expect(await refusal(api(credentials).apps.create({ name: 'Mine' }))).toEqual(unauthorized)
  }
})

test('an app has a name of 1 to 255 characters', async () => {
  const operator = world().api({ adminKey: ADMIN_KEY })
  for (const name of ['', 'x'.repeat(256), undefined as unknown as string])
    expect(await refusal(operator.apps.create({ name }))).toEqual(invalid)
  expect((await operator.apps.create({ name: '🦄'.repeat(255) })).name).toBe('🦄'.repeat(255))
})

test('a deleted API key is refused at once; other keys and user tokens stay valid', async () => {
  const { api, operator } = world()
  const app = await operator.apps.create({ name: 'Keys' })
  const second = await operator.apps.createKey({ appId: app.id })
  const listed = (await operator.apps.list()).apps.find(({ id }) => id === app.id)
  expect(listed).toMatchObject({ name: 'Keys', keys: [{ id: app.keyId }, { id: second.id }] })
  expect(JSON.stringify(listed)).not.toContain(app.apiKey)

  const [one, two] = [api({ apiKey: app.apiKey }), api({ apiKey: second.apiKey })]
  const { token } = await one.tokens.create({ userId: 'ana' })
  expect(await operator.apps.deleteKey({ appId: app.id, keyId: app.keyId })).toEqual({
    success: true,
  })
  expect(await refusal(one.tokens.create({ userId: 'ana' }))).toEqual(unauthorized)
  expect((await two.tokens.create({ userId: 'ana' })).appId).toBe(app.id)
  expect(await api({ token }).channels.list()).toEqual({ channels: [], settingsVersion: 0 })
})

test('an API key is deleted under its own app only, and only by the operator', async () => {
  const { operator, appId, backend } = world()
  const app = await operator.apps.create({ name: 'Mine' })
  expect(await refusal(operator.apps.deleteKey({ appId, keyId: app.keyId }))).toEqual(notFound)
  expect(await refusal(operator.apps.createKey({ appId: app.keyId }))).toEqual(notFound)
  const calls = [
    backend.apps.list(),
    backend.apps.createKey({ appId }),
    backend.apps.deleteKey({ appId, keyId: app.keyId }),
  ]
  expect(await refusals(calls)).toEqual(calls.map(() => unauthorized))
})

test('the usage counts what there is, and the users who were active each day', async () => {
  const { operator, db, api, user } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name: 'Counted' })
  const backend = api({ apiKey })
  const ana = await user('ana', {}, backend)
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Hall' })
  await backend.users.sync({ users: [{ id: 'idle' }] })
  for (const text of ['1', '2']) await ana.messages.send({ channelId, text })
  await backend.tokens.create({ userId: 'ana' })
  await backend.tokens.create({ userId: 'idle' })
  await backend.users.sync({ users: [{ id: 'deleted' }] })
  await backend.users.delete({ userId: 'deleted' })
  const { id: deletedId } = await ana.channels.create({ type: 'group', name: 'Deleted' })
  await ana.messages.send({ channelId: deletedId, text: '3' })
  await ana.channels.delete({ channelId: deletedId })
  const exactly = (count: number) => ({ count, isExact: true })
  const today = new Date().toISOString().slice(0, 10)
  expect(await operator.apps.usage({ appId })).toMatchObject({
    users: exactly(2),
    channels: exactly(1),
    messages: exactly(2),
    connectedUsers: exactly(0),
    activeUsers: [{ day: today, users: 2 }],
  })
  await db`
    insert into active_users (app_id, day, count)
    select ${appId}, (now() at time zone 'UTC')::date - n, 10 * n
    from generate_series(1, 2) n`
  const newestFirst = (await operator.apps.usage({ appId })).activeUsers
  expect(newestFirst.map(({ users }) => users)).toEqual([2, 10, 20])
  await db`
    update active_users
    set day = day - 3
    where app_id = ${appId}`
  expect((await operator.apps.usage({ appId, days: 3 })).activeUsers).toEqual([])
  expect((await operator.apps.usage({ appId, days: 4 })).activeUsers).toMatchObject([{ users: 2 }])
  expect(await refusal(operator.apps.usage({ appId, days: 91 }))).toEqual(invalid)
})

test('a user who logs in twice at once counts as one active user', async () => {
  const { operator, api, databaseUrl } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name: 'Twice' })
  const backend = api({ apiKey })
  const logIns = (userId: string) => async () => {
    const both = ['1', '2'].map(() => backend.tokens.create({ userId }))
    await waitingForRows(world(), both.length)
    return { both }
  }
  await backend.users.sync({ users: [{ id: 'known' }] })
  const known = await whileUserLocked({ databaseUrl, appId }, 'known', logIns('known'))
  await Promise.all(known.both)
  const made = await whileRowLocked(
    world(),
    (sql) => sql`insert into users (app_id, id) values (${appId}, 'new')`,
    logIns('new'),
  )
  await Promise.all(made.both)
  expect((await operator.apps.usage({ appId })).activeUsers).toMatchObject([{ users: 2 }])
})

test('disabling a disabled app keeps the time of its first disabling', async () => {
  const { operator } = world()
  const { id: appId } = await operator.apps.create({ name: 'Disabled' })
  const { disabledAt } = await operator.apps.update({ appId, enabled: false })
  expect(disabledAt).not.toBeNull()
  expect(await operator.apps.update({ appId, enabled: false })).toMatchObject({ disabledAt })
})

test('the usage is exact up to 10,000 of a kind, and says so beyond', async () => {
  const { operator, db } = world()
  const { id: appId } = await operator.apps.create({ name: 'Large' })
  const insert = (from: number, to: number) => db`
    insert into users (app_id, id)
    select ${appId}, 'user-' || number
    from generate_series(${from}::int, ${to}::int) number`
  await insert(1, 10_000)
  expect((await operator.apps.usage({ appId })).users).toEqual({ count: 10_000, isExact: true })
  await insert(10_001, 12_000)
  await db`
    insert into channels (id, app_id, cid, type, name, created_by)
    select gen_random_uuid(), ${appId}, 'group:' || n, 'group', 'Talk', 'user-1'
    from generate_series(1, 10_001) n`
  await db`analyze users`
  const { users, messages } = await operator.apps.usage({ appId })
  expect([users.isExact, messages.isExact]).toEqual([false, false])
  expect(users.count / 1_000).toBeCloseTo(12, 0)
})

test('an app can return to the settings of the server', async () => {
  const { operator } = world()
  const { id: appId } = await operator.apps.create({ name: 'Own' })
  const own = { userAdminAccess: 'server', messageRetentionDays: 30 } as const
  const rateLimits = { messages: 5 }
  const set = await operator.apps.update({ appId, settings: { ...own, rateLimits } })
  expect(set.settings).toMatchObject({ ...own, rateLimits: { messages: 5, requests: null } })
  const kept = await operator.apps.update({ appId, name: 'Kept' })
  expect(kept.settings).toEqual(set.settings)
  const none = { userAdminAccess: null, messageRetentionDays: null }
  const reset = await operator.apps.update({
    ...{ appId, settings: { ...none, rateLimits: { messages: null } } },
  })
  expect(reset.settings).toMatchObject({ ...none, rateLimits: { messages: null } })
  expect(await operator.apps.get({ appId })).toEqual(reset)
})

test('keys and tokens of an app that is disabled or deleted are refused at once', async () => {
  const { operator, api } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name: 'Closing' })
  const backend = api({ apiKey })
  const { token } = await backend.tokens.create({ userId: 'ana' })
  const calls = () => [backend.users.list(), api({ token }).channels.list()]
  const areServed = async () => {
    const settled = await Promise.allSettled(calls())
    return settled.map(({ status }) => status === 'fulfilled')
  }
  // The key and the token are known to be good from here on.
  expect(await areServed()).toEqual([true, true])
  await operator.apps.update({ appId, enabled: false })
  expect(await areServed()).toEqual([false, false])
  await operator.apps.update({ appId, enabled: true })
  expect(await areServed()).toEqual([true, true])
  await operator.apps.delete({ appId })
  expect(await areServed()).toEqual([false, false])
})

test('an app that was deleted is found by no call, also before it is purged', async () => {
  const { operator, db } = world()
  const { id: appId, keyId } = await operator.apps.create({ name: 'Gone' })
  await db.begin(async (sql) => {
    // The row cannot be deleted meanwhile.
    await sql`select from apps where id = ${appId} for key share`
    await operator.apps.delete({ appId })
    const calls = [
      operator.apps.delete({ appId }),
      operator.apps.get({ appId }),
      operator.apps.update({ appId, name: 'Back' }),
      operator.apps.usage({ appId }),
      operator.apps.listKeys({ appId }),
      operator.apps.createKey({ appId }),
      operator.apps.updateKey({ appId, keyId, name: 'Back' }),
      operator.apps.deleteKey({ appId, keyId }),
    ]
    expect(await refusals(calls)).toEqual(calls.map(() => notFound))
  })
})

test('the data of a deleted app is purged at once, and not with the next cleanup', async () => {
  const { operator, db, cleanup } = world()
  const { id: appId } = await operator.apps.create({ name: 'Purged' })
  // A pass that an earlier deletion has begun would purge it as well.
  await cleanup.run()
  await operator.apps.delete({ appId })
  await expect.poll(() => db`select from apps where id = ${appId}`).toEqual([])
})
