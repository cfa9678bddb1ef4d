import type { Tx } from '@parley/server/db/client'
import { expect, test } from 'vitest'
import { insertWorkspace } from './support/inserted.ts'
import { waitingForRows, whileRowLocked } from './support/locks.ts'
import { forbidden, notFound, refusal } from './support/refusal.ts'
import { until } from './support/until.ts'
import { type User, useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

/** How a user's new channel in a workspace is refused that `change` changes while it waits. */
async function refusedAfter(
  { creator, workspaceId }: { creator: User; workspaceId: string },
  change: () => Promise<unknown>,
) {
  const input = { name: 'Hall', workspaceId, memberIds: ['cem'] }
  const { refused } = await whileRowLocked(world(), lockCem, async () => {
    const refused = refusal(creator.channels.create({ type: 'team', ...input }))
    await waitingForRows(world(), 1)
    await change()
    return { refused } // it ends after the lock
  })
  return refused
}

/** As a deletion of the user does. */
const lockCem = (sql: Tx) => sql`
  select
  from users
  where app_id = ${world().appId}
    and id = 'cem'
  for update`

test('a user who was removed from a workspace meanwhile makes no channel in it', async () => {
  const [ana, ben] = await world().users('ana', 'ben', 'cem')
  const workspaceId = await insertWorkspace(world(), { ana: 'owner', ben: 'member' })
  const remove = () => ana.workspaces.removeMember({ workspaceId, userId: ben.id })
  expect(await refusedAfter({ creator: ben, workspaceId }, remove)).toEqual(forbidden)
})

test('a channel in a workspace that is left and deleted meanwhile is refused', async () => {
  const [ana] = await world().users('ana', 'cem')
  const workspaceId = await insertWorkspace(world(), { ana: 'owner' })
  const leaveAndDelete = async () => {
    await ana.workspaces.removeMember({ workspaceId, userId: ana.id })
    await world().backend.abandoned.deleteWorkspace({ workspaceId })
  }
  expect(await refusedAfter({ creator: ana, workspaceId }, leaveAndDelete)).toEqual(notFound)
})

test('a new channel in a workspace waits for the removal of its creator to end', async () => {
  const [, ben] = await world().users('ana', 'ben')
  const workspaceId = await insertWorkspace(world(), { ana: 'owner', ben: 'member' })
  const { refused } = await whileRowLocked(
    world(),
    async (sql) => {
      await sql`
        select
        from workspaces
        where id = ${workspaceId}
        for no key update`
      await sql`
        delete from workspace_members
        where app_id = ${world().appId}
          and workspace_id = ${workspaceId}
          and user_id = 'ben'`
    },
    async () => {
      const refused = refusal(ben.channels.create({ type: 'team', name: 'Hall', workspaceId }))
      await Promise.race([refused, waitingForRows(world(), 1)])
      return { refused } // it ends after the removal
    },
  )
  expect(await refused).toEqual(forbidden)
})

test('an invite that is being made when its creator is deleted expires with them', async () => {
  const { appId, backend, db } = world()
  const [gil] = await world().users('gil', 'hanna')
  const workspaceId = await insertWorkspace(world(), { gil: 'owner', hanna: 'owner' })
  const waiting = (count: number) =>
    until(async () => {
      const found = await db`
        select
        from pg_stat_activity
        where datname = current_database()
          and wait_event_type = 'Lock'`
      return found.length >= count
    })
  const { calls } = await whileRowLocked(
    world(),
    // The invite is inserted, and waits to be noted.
    (sql) => sql`lock table audit in share row exclusive mode`,
    async () => {
      const invited = gil.invites.create({ workspaceId, role: 'admin' })
      await waiting(1)
      const deleted = backend.users.delete({ userId: gil.id })
      await waiting(2)
      return { calls: [invited, deleted] } // they end after the lock
    },
  )
  await Promise.all(calls)
  const valid = await db`
    select
    from workspace_invites
    where app_id = ${appId}
      and created_by = ${gil.id}
      and expires_at > now()`
  expect(valid).toEqual([])
})

test('an invite into a workspace that is being deleted is refused', async () => {
  const [ida] = await world().users('ida')
  const workspaceId = await insertWorkspace(world(), { ida: 'owner' })
  const { refused } = await whileRowLocked(
    world(),
    (sql) => sql`
      delete from workspaces
      where app_id = ${world().appId}
        and id = ${workspaceId}`,
    async () => {
      const refused = refusal(ida.invites.create({ workspaceId }))
      await waitingForRows(world(), 1)
      return { refused } // it ends after the deletion
    },
  )
  expect(await refused).toEqual(notFound)
})
