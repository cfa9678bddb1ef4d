import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { cancelLarge } from './support/cancel-large.ts'
import { cleanupElsewhere } from './support/cleanup.ts'
import { patient } from './support/until.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
/** More than a step deletes. */
const MANY = 2_500

beforeAll(() => world().user('ana'))
beforeEach(async () => {
  await cancelLarge(world(), 1_000, 'workspace_invite_uses')
})

/** A workspace whose many members have all left, last changed days ago, with two invites. */
async function createLeftWorkspace({ appId } = world(), expiresIn = '1 day') {
  const { db } = world()
  const [workspaceId, often, never] = [randomUUID(), randomUUID(), randomUUID()]
  await db`
    insert into workspaces (id, app_id, name, type, created_by, updated_at)
    values (${workspaceId}, ${appId}, 'Acme', 'team', 'ana', now() - interval '5 days')`
  await db`
    insert into workspace_invites (
      id, app_id, workspace_id, token_hash, role, created_by, expires_at
    )
    select
      given::uuid, ${appId}, ${workspaceId}, given, 'member', 'ana', now() + ${expiresIn}::interval
    from unnest(${[often, never]}::text[]) given`
  await db`
    insert into workspace_invite_uses (app_id, invite_id, user_id)
    select ${appId}, ${often}, 'user-' || n
    from generate_series(1, ${MANY}::int) n`
  /** How many rows are left. */
  const left = async () => {
    const [counts] = await db`
      select
        (select count(*)::int from workspaces where id = ${workspaceId}) as workspaces,
        (
          select count(*)::int
          from workspace_invites
          where workspace_id = ${workspaceId}
        ) as invites,
        (select count(*)::int from workspace_invite_uses where invite_id = ${often}) as uses`
    return counts
  }
  return { workspaceId, left }
}
const NONE = { workspaces: 0, invites: 0, uses: 0 }

test('an expired invite that many users have used is deleted in steps', async () => {
  const { left } = await createLeftWorkspace(world(), '-1 day')
  const cleanup = cleanupElsewhere(world())
  await cleanup.pass()
  expect(cleanup.errors).toEqual([])
  expect(await left()).toEqual({ ...NONE, workspaces: 1 })
})

test('a workspace whose invites many users have used is deleted by one call', async () => {
  const { abandoned } = world().backend
  const { workspaceId, left } = await createLeftWorkspace()
  await abandoned.deleteWorkspace({ workspaceId })
  expect(await left()).toEqual(NONE)
})

test('a workspace that may not be deleted keeps its invites and their uses', async () => {
  const { backend, db, appId } = world()
  const { workspaceId, left } = await createLeftWorkspace()
  await db`
    insert into workspace_members (app_id, workspace_id, user_id, role)
    values (${appId}, ${workspaceId}, 'ana', 'member')`
  const refused = backend.abandoned.deleteWorkspace({ workspaceId })
  await expect(refused).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await cleanupElsewhere(world(), { purgeEmptyAfterDays: 2 }).pass()
  expect(await left()).toEqual({ workspaces: 1, invites: 2, uses: MANY })
})

test('the cleanup deletes a workspace whose invites many users have used', async () => {
  const { left } = await createLeftWorkspace()
  const cleanup = cleanupElsewhere(world(), { purgeEmptyAfterDays: 2 })
  await cleanup.pass()
  expect(cleanup.errors).toEqual([])
  expect(await left()).toEqual(NONE)
})

test('a deleted app with an invite that many users have used is purged', async () => {
  const { operator, db, cleanup } = world()
  const { id: appId } = await operator.apps.create({ name: 'Left' })
  await db`insert into users (app_id, id) values (${appId}, 'ana')`
  const { left } = await createLeftWorkspace({ ...world(), appId })
  await operator.apps.delete({ appId })
  await vi.waitFor(async () => {
    await cleanup.run()
    expect(await left()).toEqual(NONE)
  }, patient)
})
