import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { NEVER, quietTimings } from './support/quiet.ts'
import { refusal } from './support/refusal.ts'
import { discardPlans, rowsReadBy } from './support/rows-read.ts'
import { useWorld } from './support/world.ts'

const world = useWorld({ poolSize: 1, timings: { ...quietTimings, pingMs: NEVER } })

const VALID = 120
const VOID = 10 * limits.invitesSlice

type Invites = { workspaceId: string; createdBy: string; count: number }

/** Invites newer than all before them. Those of users who are no members are void. */
const insertInvites = ({ workspaceId, createdBy, count }: Invites) => world().db`
  insert into workspace_invites (
    id, app_id, workspace_id, token_hash, role, created_by, created_at, expires_at
  )
  select
    lpad(to_hex(known + n), 32, '0')::uuid, ${world().appId}, ${workspaceId},
    gen_random_uuid()::text, 'member', ${createdBy}, now() + interval '1 minute',
    now() + interval '1 day'
  from (select count(*) as known from workspace_invites) existing, generate_series(1, ${count}) n`

async function createWorkspace() {
  const ana = await world().user('ana')
  const { id: workspaceId } = await ana.workspaces.create({ name: 'Team', type: 'team' })
  const elsewhere = await ana.workspaces.create({ name: 'Other', type: 'team' })
  return { ana, workspaceId, elsewhere: elsewhere.id }
}

test('a page of invites reads no more than it looks at, however many are void', async () => {
  const { ana, workspaceId, elsewhere } = await createWorkspace()
  await insertInvites({ workspaceId, createdBy: 'ana', count: VALID })
  await insertInvites({ workspaceId, createdBy: 'nobody', count: VOID })
  await insertInvites({ workspaceId: elsewhere, createdBy: 'ana', count: 5_000 })
  await world().db`vacuum analyze workspace_invites`
  await discardPlans(world())
  const found: string[] = []
  let pages = 0
  let cursor: string | undefined
  do {
    const { invites, nextCursor } = await ana.invites.list({ workspaceId, limit: 50, cursor })
    found.push(...invites.map(({ id }) => id))
    pages += 1
    cursor = nextCursor ?? undefined
  } while (cursor !== undefined)
  expect(found).toHaveLength(VALID)
  expect(found).toEqual(found.toSorted().toReversed())
  expect(new Set(found).size).toBe(VALID)
  expect(pages).toBe(VOID / limits.invitesSlice + Math.ceil(VALID / 50))
  for (const plan of ['generic', 'custom'] as const) {
    const ofVoid = () => ana.invites.list({ workspaceId, limit: 50 })
    expect.soft(await rowsReadBy(world(), plan, ofVoid), plan).toBeLessThan(VOID)
    const ofValid = () => ana.invites.list({ workspaceId: elsewhere, limit: 50 })
    expect.soft(await rowsReadBy(world(), plan, ofValid), plan).toBeLessThan(500)
  }
})

test('a cursor of another list is refused by the list of invites', async () => {
  const { ana, workspaceId } = await createWorkspace()
  for (const cursor of ['x', Buffer.from('["1",""]').toString('base64url')])
    expect((await refusal(ana.invites.list({ workspaceId, cursor }))).code).toBe('VALIDATION_ERROR')
})
