import { connectOnce } from '@parley/server/db/client'
import { expect, test } from 'vitest'
import { insertUsers, insertWorkspace } from '../support/inserted.ts'
import { NEVER, quietTimings } from '../support/quiet.ts'
import { discardPlans, pagesReadBy, rowsReadBy } from '../support/rows-read.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld({
  poolSize: 1,
  timings: { ...quietTimings, pingMs: NEVER },
})

/** Public channels of eve, each with an unread message of fay. */
const insertChannels = (size: number) => world().db`
  with added as (
    insert into channels (id, app_id, cid, type, created_by, last_seq, rev)
    select gen_random_uuid(), ${world().appId}, 'eve' || n, 'public', 'eve', 1, 1
    from generate_series(1, ${size}::int) n
    returning app_id, id
  ),
  joined as (
    insert into members (app_id, channel_id, user_id, role)
    select app_id, id, 'eve', 'owner'
    from added
  )
  insert into messages (id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments)
  select gen_random_uuid(), app_id, id, 'fay', 1, 1, 'hello', '{}', '[]'
  from added`

test('a total of unread messages reads few pages for each channel', async () => {
  const [eve] = await world().users('eve', 'fay')
  const size = 1_000
  await insertChannels(size)
  await world().db`analyze`
  await discardPlans(world())
  expect(await eve.reads.unreadCount()).toEqual({ count: size, version: expect.any(Number) })
  const pages = await pagesReadBy(world(), () => eve.reads.unreadCount())
  // Counts the pages of the channel, of own messages and of counts of deleted ones.
  expect(pages).toBeLessThanOrEqual(9 * size)
})

/** Workspaces of gil, in the first of which are others, and channels that were deleted. */
const insertWorkspaces = (size: number) => world().db`
  with made as (
    insert into workspaces (id, app_id, name, type, created_by)
    select gen_random_uuid(), ${world().appId}, 'Acme', 'team', 'gil'
    from generate_series(0, ${size}::int)
    returning app_id, id
  ),
  joined as (
    insert into workspace_members (app_id, workspace_id, user_id, role, joined_at)
    select app_id, id, 'gil', 'owner', now() - row_number() over () * interval '1 s'
    from made
    returning app_id, workspace_id, joined_at
  ),
  large as (
    select app_id, workspace_id
    from joined
    order by joined_at
    limit 1
  ),
  deleted as (
    insert into channels (id, app_id, cid, type, created_by, workspace_id, deleted_at)
    select gen_random_uuid(), app_id, 'gil' || n, 'team', 'gil', workspace_id, now()
    from large, generate_series(1, ${size}::int) n
  ),
  others as (
    insert into users (app_id, id)
    select app_id, 'other' || n
    from large, generate_series(1, ${size}::int) n
    returning app_id, id
  )
  insert into workspace_members (app_id, workspace_id, user_id, role)
  select app_id, workspace_id, id, 'member'
  from large
  join others using (app_id)`

test('a page of workspaces, or of the members of one, reads no others', async () => {
  const [gil] = await world().users('gil')
  const size = 1_000
  await insertWorkspaces(size)
  await world().db`analyze`
  await discardPlans(world())
  const list = () => gil.workspaces.list({ limit: 10 })
  const { workspaces: page } = await list()
  expect(page.map(({ memberCount }) => memberCount)).toEqual([size + 1, ...Array(9).fill(1)])
  const workspaceId = page[0]?.id ?? ''
  for (const plan of ['generic', 'custom'] as const) {
    // The members of the first are counted. Its deleted channels are not read.
    expect(await rowsReadBy(world(), plan, list)).toBeLessThan(size + 150)
    const members = () => gil.workspaces.members({ workspaceId, limit: 10 })
    expect(await rowsReadBy(world(), plan, members)).toBeLessThan(100)
  }
})

test('expiry looks at each event once, also while a transaction still sees them', async () => {
  const { db, appId, databaseUrl, cleanup } = world()
  const size = 6_000
  const fillAndExpire = async () => {
    await db`
      insert into events (topic, "offset", type, envelope, created_at)
      select
        ${`chat:${appId}:old`}, n, 'message.new', '{}',
        now() - interval '25 hours' + n / 3 * interval '1 ms'
      from generate_series(1, ${size}::int) n`
    await cleanup.run()
  }
  const reader = connectOnce(databaseUrl)
  try {
    await reader`begin isolation level repeatable read`
    await reader`select from apps`
    const rows = await rowsReadBy(world(), 'generic', fillAndExpire)
    // Counts reads by time and by key, of the events of this pass and of earlier ones, which are
    // still there. It would be over eleven times as many if each step began at the first event.
    expect(rows).toBeLessThan(8 * size)
    // Runs only now: a slow machine would count the rows that this reads.
    const left = await db`
      select
      from events
      where topic = ${`chat:${appId}:old`}`
    expect(left).toHaveLength(0)
  } finally {
    await reader.end()
  }
})

const MANY = 2_000
const INVITES = 200

/** A workspace of gus with many members, one of whom leaves whenever a removal is measured. */
async function insertWorkspaceOfMany() {
  const { db, appId } = world()
  const workspaceId = await insertWorkspace(world(), { gus: 'owner' })
  const ids = await insertUsers(world(), 'guest', MANY)
  await db`
    insert into workspace_members (app_id, workspace_id, user_id, role)
    select ${appId}, ${workspaceId}, given, 'member'
    from unnest(${ids}::text[]) given`
  return workspaceId
}

test('an invite or a removal reads none of the other members of a workspace', async () => {
  const [gus] = await world().users('gus')
  const workspaceId = await insertWorkspaceOfMany()
  const { db, appId } = world()
  await db`
    insert into workspace_invites (
      id, app_id, workspace_id, token_hash, role, created_by, expires_at
    )
    select
      gen_random_uuid(), ${appId}, ${workspaceId}, n, 'member', 'gus', now() + interval '1 day'
    from generate_series(1, ${INVITES}::int) n`
  await db`analyze`
  let left = 0
  const remove = () => gus.workspaces.removeMember({ workspaceId, userId: `guest${++left}` })
  for (const plan of ['generic', 'custom'] as const) {
    const listed = await rowsReadBy(world(), plan, () => gus.invites.list({ workspaceId }))
    const removed = await rowsReadBy(world(), plan, remove)
    expect(listed, `list, ${plan} plan`).toBeLessThanOrEqual(4 * INVITES)
    expect(removed, `removal, ${plan} plan`).toBeLessThanOrEqual(50)
  }
  // Only when the last owner leaves are all members looked at, for the next one.
  let userId = 'gus'
  const leave = async () => {
    await (await world().user(userId)).workspaces.removeMember({ workspaceId, userId })
    const [next] = await db<{ userId: string }[]>`
      select user_id
      from workspace_members
      where workspace_id = ${workspaceId}
        and role = 'owner'`
    userId = next?.userId ?? ''
  }
  expect(await rowsReadBy(world(), 'generic', leave)).toBeLessThanOrEqual(10 * MANY)
})

test("an app's part of the audit log is read without the entries of others", async () => {
  const { db, operator } = world()
  const { id: appId } = await operator.apps.create({ name: 'Quiet' })
  await db`
    insert into audit (app_id, actor, operation, target)
    select
      case when n = ${MANY} then ${appId}::uuid else ${world().appId} end, 'key', 'none', '{}'
    from generate_series(1, ${MANY}) n`
  await db`analyze audit`
  for (const plan of ['generic', 'custom'] as const) {
    const rows = await rowsReadBy(world(), plan, async () =>
      expect((await operator.audit.listOfApp({ appId })).entries).toHaveLength(2),
    )
    expect(rows, `${plan} plan`).toBeLessThanOrEqual(50)
  }
})
