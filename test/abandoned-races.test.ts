import { expect, test } from 'vitest'
import { breakRow } from './support/break-row.ts'
import { cleanupElsewhere } from './support/cleanup.ts'
import { waitingForRows, whileLocked, whileRowLocked } from './support/locks.ts'
import { notFound, refusal } from './support/refusal.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const purge = () => cleanupElsewhere(world(), { purgeEmptyAfterDays: 7 }).pass()

/** Makes the last activity of all channels and workspaces eight days older. */
async function age() {
  const { db, appId } = world()
  await db`
    update channels
    set
      last_activity_at = last_activity_at - interval '8 days',
      updated_at = updated_at - interval '8 days'
    where app_id = ${appId}`
  await db`
    update workspaces
    set updated_at = updated_at - interval '8 days'
    where app_id = ${appId}`
}

test.each([
  ['renames', (channelId: string) => world().backend.channels.update({ channelId, name: 'New' })],
  ['writes to', (channelId: string) => world().backend.messages.send({ channelId, text: 'hi' })],
])('a channel that a backend %s while it is being purged is kept', async (_, change) => {
  const { backend, user } = world()
  const ana = await user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  await ana.members.leave({ channelId })
  await age()
  const [changed, purged] = await whileLocked(world(), channelId, async (waitFor) => {
    const changing = change(channelId)
    await waitFor(1)
    const purging = purge()
    await waitFor(2)
    return [() => changing, () => purging] as const // they end after the lock
  })
  await Promise.all([changed(), purged()])
  expect((await backend.channels.get({ channelId })).memberCount).toBe(0)
})

test('no channel is made in a workspace that is being deleted', async () => {
  const { user, backend } = world()
  const ana = await user('ana')
  const { id: workspaceId } = await ana.workspaces.create({ name: 'Acme', type: 'team' })
  const created = await whileRowLocked(
    world(),
    (sql) => sql`delete from workspaces where id = ${workspaceId}`,
    async () => {
      const creating = refusal(backend.channels.create({ type: 'team', name: 'Hall', workspaceId }))
      await waitingForRows(world(), 1)
      return () => creating
    },
  )
  expect(await created()).toEqual(notFound)
})

test('a workspace that has changed while it is being purged is kept', async () => {
  const { user, backend, db } = world()
  const ana = await user('ana')
  const { id: workspaceId } = await ana.workspaces.create({ name: 'Acme', type: 'team' })
  await ana.workspaces.removeMember({ workspaceId, userId: 'ana' })
  await age()
  const purged = await whileRowLocked(
    world(),
    (sql) => sql`
      update workspaces
      set updated_at = now()
      where id = ${workspaceId}`,
    async () => {
      const purging = purge()
      await waitingForRows(world(), 1)
      return () => purging
    },
  )
  await purged()
  expect(
    await db`
      select
      from workspaces
      where id = ${workspaceId}`,
  ).toHaveLength(1)
  const { workspaces } = await backend.abandoned.workspaces()
  expect(workspaces.map(({ id }) => id)).toContain(workspaceId)
})

test('channels and workspaces that cannot be purged are tried again in the next pass', async () => {
  const { user, db } = world()
  const ana = await user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Stuck' })
  const { id: workspaceId } = await ana.workspaces.create({ name: 'Stuck', type: 'team' })
  await ana.members.leave({ channelId })
  await ana.workspaces.removeMember({ workspaceId, userId: 'ana' })
  await age()
  const cleanup = cleanupElsewhere(world(), { purgeEmptyAfterDays: 7, mayFail: true })
  const mendChannel = await breakRow(world(), 'channels', `id = '${channelId}'`)
  const mendWorkspace = await breakRow(world(), 'workspaces', `id = '${workspaceId}'`)
  const stored = async () => [
    ...(await db`
      select
      from channels
      where id = ${channelId}
        and deleted_at is null`),
    ...(await db`select from workspaces where id = ${workspaceId}`),
  ]
  await cleanup.pass()
  await cleanup.pass()
  // Both fail in each pass, of which one more may have been due.
  expect((await cleanup.failedTasks()).abandoned).toBeGreaterThanOrEqual(4)
  await mendChannel()
  await mendWorkspace()
  await cleanup.pass()
  expect(await stored()).toEqual([])
})
