import { expect, test } from 'vitest'
import { waitingForRows, whileRowLocked, withoutCleanup } from '../support/locks.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

test('a sync stores a user who is made meanwhile beside one who was just deleted', async () => {
  const { backend, appId } = world()
  await backend.users.sync({ users: [{ id: 'deleted', name: 'Before' }] })
  await withoutCleanup(world(), async () => {
    await backend.users.delete({ userId: 'deleted' })
    const made = await whileRowLocked(
      world(),
      (sql) => sql`insert into users (app_id, id) values (${appId}, 'made')`,
      async () => {
        const users = ['made', 'deleted'].map((id) => ({ id, name: 'Synced' }))
        const synced = backend.users.sync({ users })
        await waitingForRows(world(), 1)
        return { synced }
      },
    )
    await made.synced
  })
  const { users } = await backend.users.list({ ids: ['made', 'deleted'] })
  expect(users.map(({ name }) => name)).toEqual(['Synced', 'Synced'])
})
