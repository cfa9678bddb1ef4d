import type { Tx } from '@parley/server/db/client'
import { expect, test } from 'vitest'
import { insertWorkspace } from './support/inserted.ts'
import { waitingForRows, whileRowLocked } from './support/locks.ts'
import { forbidden, notFound, refusal } from './support/refusal.ts'
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

test('nobody makes a channel in a workspace that they were removed from meanwhile', async () => {
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
