import { expect, test } from 'vitest'
import { RawSocket, useSockets } from './support/socket.ts'
import { createWorld, useWorld } from './support/world.ts'

const world = useWorld()
const terminatedLater = useSockets()

test('the usage says how many users are connected', async () => {
  const { operator, api, db, user } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name: 'Connected' })
  const backend = api({ apiKey })
  const ana = await user('ana', {}, backend)
  await user('ben', {}, backend)
  await terminatedLater(RawSocket.connect(world(), ana))
  await expect
    .poll(
      () => db`
        select
        from connections
        where app_id = ${appId}`,
    )
    .toHaveLength(1)
  const { connectedUsers } = await operator.apps.usage({ appId })
  expect(connectedUsers).toEqual({ count: 1, isExact: true })
})

test('users for whom only the backend acts count as active on the days it does', async () => {
  const { operator, db, databaseUrl } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name: 'Acting' })
  const node = await createWorld({ databaseUrl })
  const userIds = ['new', 'yesterday', 'idle']
  await node.api({ apiKey }).users.sync({ users: userIds.map((id) => ({ id })) })
  await db`
    update users
    set last_active_at = date_trunc('day', now(), 'UTC') - interval '1 second'
    where app_id = ${appId}
      and id = 'yesterday'`
  for (const userId of userIds.slice(0, 2)) {
    const user = node.api({ apiKey, userId })
    const { id: channelId } = await user.channels.create({ type: 'group', name: 'Talk' })
    for (const text of ['1', '2']) await user.messages.send({ channelId, text })
  }
  // A node writes the collected times before it stops.
  await node.stop()
  const { activeUsers } = await operator.apps.usage({ appId })
  expect(activeUsers).toMatchObject([{ users: 2 }])
})

/** The bytes of a table once its statistics are up to date. */
async function bytesOf(table: 'users' | 'messages') {
  const { db } = world()
  await db`analyze ${db(table)}`
  const [size] = await db<{ bytes: number }[]>`
    select pg_total_relation_size(${table}::regclass)::float8 as bytes`
  return size?.bytes ?? 0
}

test('the storage of an app is its share of the tables, and a new app has none', async () => {
  const { operator, api, db, user } = world()
  const { id: appId } = await operator.apps.create({ name: 'Stored' })
  const { id: newId, apiKey } = await operator.apps.create({ name: 'New' })
  await db`
    insert into users (app_id, id)
    select ${appId}, 'user-' || number
    from generate_series(1, 5000) number`
  const users = await bytesOf('users')
  const stored = async (appId: string) => (await operator.apps.usage({ appId })).storageBytes
  expect(await stored(appId)).toBeGreaterThan(users / 2)
  expect(await stored(newId)).toBe(0)
  const eve = await user('eve', {}, api({ apiKey }))
  const { id: channelId } = await eve.channels.create({ type: 'group', name: 'Talk' })
  await db`
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, author_seq, text, mentions, attachments
    )
    select gen_random_uuid(), ${newId}, ${channelId}, 'eve', n, n, n, 'hi', '{}', '[]'
    from generate_series(1, 5000) n`
  const messages = await bytesOf('messages')
  expect(await stored(newId)).toBeGreaterThan(messages / 2)
})
