import { expect, test } from 'vitest'
import { RawSocket, useSockets } from './support/socket.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const terminatedLater = useSockets()

test('the usage says how many users are connected', async () => {
  const { operator, api, db, user } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name: 'Connected' })
  const backend = api({ apiKey })
  const ana = await user('ana', {}, backend)
  await user('ben', {}, backend)
  await terminatedLater(RawSocket.connect(world(), ana))
  await expect.poll(() => db`select from connections where app_id = ${appId}`).toHaveLength(1)
  const { connectedUsers } = await operator.apps.usage({ appId })
  expect(connectedUsers).toEqual({ count: 1, isExact: true })
})

test('the storage of an app is its share of the tables, and a new app has none', async () => {
  const { operator, db } = world()
  const { id: appId } = await operator.apps.create({ name: 'Stored' })
  const { id: newId } = await operator.apps.create({ name: 'New' })
  await db`
    insert into users (app_id, id)
    select ${appId}, 'user-' || number
    from generate_series(1, 5000) number`
  await db`analyze users`
  const [users] = await db<{ bytes: number }[]>`
    select pg_total_relation_size('users')::float8 as bytes`
  const stored = async (appId: string) => (await operator.apps.usage({ appId })).storageBytes
  expect(await stored(appId)).toBeGreaterThan((users?.bytes ?? 0) / 2)
  expect(await stored(newId)).toBe(0)
})
