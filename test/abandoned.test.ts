import { randomUUID } from 'node:crypto'
import { limits } from '@parley/contract'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { cleanupElsewhere } from './support/cleanup.ts'
import { whileLocked } from './support/locks.ts'
import { RawSocket, useSockets } from './support/socket.ts'
import { patient } from './support/until.ts'
import { type User, useWorld } from './support/world.ts'

const world = useWorld()
const terminatedLater = useSockets()
let ana: User
let ben: User
beforeAll(async () => {
  ;[ana, ben] = await world().users('ana', 'ben')
})
afterEach(async () => {
  const { db, appId } = world()
  await db`delete from channels where app_id = ${appId}`
  await db`delete from workspaces where app_id = ${appId}`
})

type Options = { isLeft?: boolean; type?: 'public' | 'team'; workspaceId?: string }
async function createChannel({ isLeft = true, ...options }: Options = {}) {
  const { id } = await ana.channels.create({ type: 'group', name: 'Talk', ...options })
  if (isLeft) await ana.members.leave({ channelId: id })
  return id
}
async function createWorkspace({ isLeft = true } = {}) {
  const { id } = await ana.workspaces.create({ name: 'Acme', type: 'team' })
  if (isLeft) await ana.workspaces.removeMember({ workspaceId: id, userId: 'ana' })
  return id
}
const abandonedChannels = async () =>
  (await world().backend.abandoned.channels()).channels.map(({ id }) => id)
const abandonedWorkspaces = async () =>
  (await world().backend.abandoned.workspaces()).workspaces.map(({ id }) => id)
/** The ids that the tables still have. */
const stored = async () => {
  const { db, appId } = world()
  const rows = await db<{ id: string }[]>`
    select id from channels where app_id = ${appId}
    union all
    select id from workspaces where app_id = ${appId}`
  return rows.map(({ id }) => id).sort()
}
/** Makes the last activity of all channels and workspaces this many days older. */
async function age(days: number) {
  const { db, appId } = world()
  await db`
    update channels
    set
      last_activity_at = last_activity_at - ${days} * interval '1 day',
      updated_at = updated_at - ${days} * interval '1 day'
    where app_id = ${appId}`
  await db`
    update workspaces
    set updated_at = updated_at - ${days} * interval '1 day'
    where app_id = ${appId}`
}
const purge = (purgeEmptyAfterDays?: number) =>
  cleanupElsewhere(world(), purgeEmptyAfterDays === undefined ? {} : { purgeEmptyAfterDays }).pass()

test('a backend lists the channels that all members have left, and deletes them', async () => {
  const [left, other] = [await createChannel(), await createChannel({ isLeft: false })]
  expect(await abandonedChannels()).toEqual([left])
  await world().backend.abandoned.deleteChannel({ channelId: left })
  expect(await abandonedChannels()).toEqual([])
  await vi.waitFor(async () => expect(await stored()).toEqual([other]), patient)
  const again = world().backend.abandoned.deleteChannel({ channelId: left })
  await expect(again).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('a channel that a user has joined again is not abandoned', async () => {
  const channelId = await createChannel({ type: 'public' })
  expect(await abandonedChannels()).toEqual([channelId])
  await ben.members.join({ channelId })
  expect(await abandonedChannels()).toEqual([])
  const refused = world().backend.abandoned.deleteChannel({ channelId })
  await expect(refused).rejects.toMatchObject({ code: 'FORBIDDEN' })
})

test('an abandoned workspace is deleted once its channels are', async () => {
  const { backend } = world()
  const workspaceId = await createWorkspace({ isLeft: false })
  const channelId = await createChannel({ type: 'team', workspaceId, isLeft: false })
  expect(await abandonedWorkspaces()).toEqual([])
  const refused = () => backend.abandoned.deleteWorkspace({ workspaceId })
  await expect(refused()).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await ana.workspaces.removeMember({ workspaceId, userId: 'ana' })
  expect(await abandonedWorkspaces()).toEqual([workspaceId])
  await expect(refused()).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await ana.channels.delete({ channelId })
  await backend.abandoned.deleteWorkspace({ workspaceId })
  expect(await abandonedWorkspaces()).toEqual([])
  await vi.waitFor(async () => expect(await stored()).toEqual([]), patient)
})

test('another backend neither sees nor deletes what is abandoned', async () => {
  const [channelId, workspaceId] = [await createChannel(), await createWorkspace()]
  const { abandoned } = await world().stranger()
  expect(await abandoned.channels()).toEqual({ channels: [], nextCursor: null })
  expect(await abandoned.workspaces()).toEqual({ workspaces: [], nextCursor: null })
  await expect(abandoned.deleteChannel({ channelId })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  const refused = abandoned.deleteWorkspace({ workspaceId })
  await expect(refused).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect(await stored()).toEqual([channelId, workspaceId].sort())
})

test('the purge leaves an app alone that is being imported', async () => {
  const { db, operator, api } = world()
  const app = await operator.apps.create({ name: 'Imported' })
  const backend = api({ apiKey: app.apiKey })
  await backend.users.sync({ users: [{ id: 'dora' }] })
  const dora = api({ apiKey: app.apiKey, userId: 'dora' })
  const { id: channelId } = await dora.channels.create({ type: 'group', name: 'Empty' })
  const { id: workspaceId } = await dora.workspaces.create({ name: 'Empty', type: 'team' })
  await dora.members.leave({ channelId })
  await dora.workspaces.removeMember({ workspaceId, userId: 'dora' })
  const show = (deletedAt: string | null) => db`
    with old as (
      update channels
      set last_activity_at = now() - interval '2 days', updated_at = now() - interval '2 days'
      where app_id = ${app.id}
    ), older as (
      update workspaces set updated_at = now() - interval '2 days' where app_id = ${app.id}
    )
    update apps set deleted_at = ${deletedAt}::timestamptz where id = ${app.id}`
  const left = async () => {
    const rows = await db<{ id: string }[]>`
      select id from channels where app_id = ${app.id} and deleted_at is null
      union all
      select id from workspaces where app_id = ${app.id}`
    return rows.map(({ id }) => id).sort()
  }
  await show('infinity')
  await purge(1)
  expect(await left()).toEqual([channelId, workspaceId].sort())
  await show(null)
  await purge(1)
  expect(await left()).toEqual([])
})

test('pages go through all that is abandoned, a bounded number of rows at a time', async () => {
  const { db, appId, backend } = world()
  await db`
    insert into channels (id, app_id, cid, type, created_by, member_count)
    select
      ('019c9b1f-02d4-7d3a-9a53-' || lpad(n::text, 12, '0'))::uuid, ${appId}, 'group:' || n,
      'group', 'ana',
      case when n % ${limits.abandoned.slice} in (0, 1) then 0 else 1 end -- the ends of slices
    from generate_series(1, ${2 * limits.abandoned.slice + 1}) n`
  const pages = async (limit: number) => {
    const found: string[][] = []
    let cursor: string | null | undefined
    while (cursor !== null) {
      const page = await backend.abandoned.channels({ limit, ...(cursor && { cursor }) })
      found.push(page.channels.map(({ id }) => id))
      cursor = page.nextCursor
    }
    return found
  }
  const bySlice = await pages(100)
  expect(bySlice).toHaveLength(3)
  const all = bySlice.flat()
  expect(new Set(all).size).toBe(5)
  expect(all).toEqual([...all].sort())
  const short = await pages(1)
  expect(short.flat()).toEqual(all)
  expect(Math.max(...short.map(({ length }) => length))).toBe(1)
  for (const bad of ['x', Buffer.from('["x",""]').toString('base64url')])
    await expect(backend.abandoned.channels({ cursor: bad })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    })
})

test('channels and workspaces abandoned for longer than the setting are purged', async () => {
  const old = [await createChannel(), await createWorkspace()]
  const changed = await createChannel()
  await age(8)
  await world().backend.channels.update({ channelId: changed, name: 'Changed' })
  const kept = [
    changed,
    await createChannel(),
    await createChannel({ isLeft: false }),
    await createWorkspace(),
    await createWorkspace({ isLeft: false }),
  ].sort()
  await purge()
  await purge(0)
  await purge(9)
  expect(await stored()).toEqual([...old, ...kept].sort())
  await purge(7)
  expect(await stored()).toEqual(kept)
})

test('a channel that a user joins while it is being purged is kept', async () => {
  const channelId = await createChannel({ type: 'public' })
  await age(8)
  const [joined, purged] = await whileLocked(world(), channelId, async (waitFor) => {
    const joining = ben.members.join({ channelId })
    await waitFor(1)
    const purging = purge(7)
    await waitFor(2)
    return [() => joining, () => purging] as const // they end after the lock
  })
  await Promise.all([joined(), purged()])
  expect(await stored()).toEqual([channelId])
  expect(await ben.channels.get({ channelId })).toMatchObject({ memberCount: 1 })
})

test('a channel is abandoned from the time that its last member left', async () => {
  const channelId = await createChannel({ isLeft: false })
  const workspaceId = await createWorkspace({ isLeft: false })
  await age(8)
  await ana.members.leave({ channelId })
  await ana.workspaces.removeMember({ workspaceId, userId: 'ana' })
  await purge(7)
  expect(await stored()).toEqual([channelId, workspaceId].sort())
})

test('readers of an abandoned public channel receive its deletion when it is purged', async () => {
  const channelId = await createChannel({ type: 'public' })
  const socket = await terminatedLater(RawSocket.connect(world(), ben))
  const channel = `chat:${world().appId}:${channelId}`
  await socket.ask({ id: 2, subscribe: { channel } })
  await age(8)
  await purge(7)
  await socket.pushed(({ pub }) => pub?.data.type === 'channel.deleted')
})

test('the purge walks over all channels, however many there are', async () => {
  const { db, appId } = world()
  await db`
    insert into channels (id, app_id, cid, type, created_by, member_count)
    select gen_random_uuid(), ${appId}, 'group:' || n, 'group', 'ana', 1
    from generate_series(1, ${2 * limits.abandoned.slice}) n`
  const [first, last] = [randomUUID().replace(/^./, '0'), randomUUID().replace(/^./, 'f')]
  await db`
    insert into channels (
      id, app_id, cid, type, created_by, member_count, last_activity_at, updated_at
    )
    select
      id, ${appId}, 'group:' || id, 'group', 'ana', 0,
      now() - interval '8 days', now() - interval '8 days'
    from unnest(${[first, last]}::uuid[]) id`
  await purge(7)
  const left = await stored()
  expect([left.includes(first), left.includes(last)]).toEqual([false, false])
})
