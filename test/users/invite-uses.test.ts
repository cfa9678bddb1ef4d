import { deleteInviteUses } from '@parley/server/features/users/erase-invites'
import { expect, test } from 'vitest'
import { exportOf } from '../support/exported.ts'
import { withoutCleanup } from '../support/locks.ts'
import { NEVER, quietTimings } from '../support/quiet.ts'
import { discardPlans, rowsReadBy } from '../support/rows-read.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld({
  poolSize: 1,
  timings: { ...quietTimings, pingMs: NEVER },
})

const MANY = 3_000

/** The user with the same id in another app has used many invites there. */
async function useManyElsewhere(userId: string) {
  const { db, operator } = world()
  const { id: appId } = await operator.apps.create({ name: 'Large' })
  await db`insert into users (app_id, id) values (${appId}, ${userId})`
  await db`
    insert into workspaces (id, app_id, name, type, created_by)
    select md5('workspace')::uuid, ${appId}, 'Team', 'team', ${userId}`
  await db`
    insert into workspace_invites (
      id, app_id, workspace_id, token_hash, role, created_by, expires_at
    )
    select
      md5(n::text)::uuid, ${appId}, md5('workspace')::uuid, n::text, 'member', ${userId},
      now() + interval '1 day'
    from generate_series(1, ${MANY}::int) n`
  await db`
    insert into workspace_invite_uses (app_id, invite_id, user_id)
    select ${appId}, md5(n::text)::uuid, ${userId}
    from generate_series(1, ${MANY}::int) n`
  await db`vacuum analyze workspace_invite_uses, workspace_invites`
  await discardPlans(world())
  return appId
}

/** How many uses of invites the id has in each app. */
const usesOf = async (userId: string) =>
  (
    await world().db<{ appId: string | null; count: number }[]>`
      select app_id, count(*)::int as count
      from workspace_invite_uses
      where user_id = ${userId}
      group by app_id`
  ).map((row) => ({ ...row }))

test('export and erasure read no uses of invites by the id in other apps', async () => {
  const { db, pool, appId } = world()
  const [admin, ana] = await world().users('admin', 'ana')
  const { id: workspaceId } = await ana.workspaces.create({ name: 'Team', type: 'team' })
  await admin.invites.accept({ token: (await ana.invites.create({ workspaceId })).token })
  const largeId = await useManyElsewhere('admin')
  for (const plan of ['generic', 'custom'] as const) {
    const whole = () => exportOf(world(), 'admin')
    expect.soft(await rowsReadBy(world(), plan, whole), plan).toBeLessThan(MANY / 10)
    const query = { appId, userIds: ['admin'], limit: 1_000 }
    await db`
      update users
      set deleted_at = now()
      where app_id = ${appId}
        and id = 'admin'`
    const remove = () => pool.use((tx) => deleteInviteUses(tx, query))
    expect.soft(await rowsReadBy(world(), plan, remove), plan).toBeLessThan(MANY / 10)
    await db`
      update users
      set deleted_at = null
      where app_id = ${appId}
        and id = 'admin'`
  }
  expect(await usesOf('admin')).toEqual([{ appId: largeId, count: MANY }])
})

test('uses that a server of an earlier version has stored are found, too', async () => {
  const { backend, db, appId, cleanup } = world()
  const [old, ana] = await world().users('old', 'ana')
  const { id: workspaceId } = await ana.workspaces.create({ name: 'Team', type: 'team' })
  await old.invites.accept({ token: (await ana.invites.create({ workspaceId })).token })
  const forget = () => db`
    update workspace_invite_uses
    set app_id = null
    where app_id = ${appId}
      and user_id = 'old'`
  await forget()
  await cleanup.run()
  expect(await usesOf('old')).toEqual([{ appId, count: 1 }])
  await forget()
  // An export or erasure before the next cleanup finds them all the same.
  await withoutCleanup(world(), async () => {
    const kinds = (await exportOf(world(), 'old')).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'inviteUse')).toHaveLength(1)
    await forget()
    await backend.users.delete({ userId: 'old' })
    const tools = { use: world().pool.use, until: performance.now() + 60_000 }
    await cleanup.erase({ appId, userIds: ['old'] }, tools)
    expect(await usesOf('old')).toEqual([])
  })
})
