import { connectOnce } from '@parley/server/db/client'
import { selectErasureTargets } from '@parley/server/features/users/erase'
import { expect, onTestFinished, test } from 'vitest'
import { cleanupElsewhere } from './support/cleanup.ts'
import { insertUsers } from './support/inserted.ts'
import { waitingForRows, whileRowLocked } from './support/locks.ts'
import { useWorld } from './support/world.ts'

// The tests prepare and count on the same connection, which then reports all that it has read.
// Another connection would report the rest of its preparation at its own time.
const world = useWorld({ poolSize: 1 })
const ROWS = 6_000

/** The entries of indexes that were read, by table. */
async function entriesRead() {
  await world().pool.use((connection) => connection`select pg_stat_force_next_flush()`)
  const tables = await world().db<{ name: string; entries: number }[]>`
    select relname as name, sum(idx_tup_read)::float8 as entries
    from pg_stat_user_indexes
    group by relname`
  return new Map(tables.map(({ name, entries }) => [name, entries]))
}

/** Keeps a transaction open that may still see every row that is deleted meanwhile. */
async function holdSnapshot() {
  const holder = connectOnce(world().databaseUrl)
  const connection = await holder.reserve()
  onTestFinished(async () => {
    await connection`rollback`
    connection.release()
    await holder.end()
  })
  await connection`begin isolation level repeatable read`
  await connection`select from service`
}

const insertOldRows = (channelId: string, userId: string) =>
  world().pool.use(async (db) => {
    const { appId } = world()
    await db`
      insert into messages (id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments)
      select gen_random_uuid(), ${appId}, ${channelId}, ${userId}, n, n + 9, '', '{}', '[]'
      from generate_series(1, ${ROWS}::int) n`
    await db`
      insert into read_marks (app_id, channel_id, user_id, seq)
      select ${appId}, ${channelId}, ${userId}, n
      from generate_series(1, ${ROWS}::int) n`
    await db`
      insert into webhook_deliveries (app_id, webhook_id, event_type, status, created_at)
      select ${appId}, ${channelId}, 'webhook.test', 'delivered', now() - n * interval '1 day'
      from generate_series(10, 9 + ${ROWS}::int) n`
    await db`
      insert into link_previews (app_id, url_hash, preview, expires_at)
      select ${appId}, 'old' || n, null, now() - n * interval '1 second'
      from generate_series(1, ${ROWS}::int) n`
  })

test('steps of the cleanup do not read what earlier ones have deleted', async () => {
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Long' })
  await insertOldRows(channelId, 'ana')
  await world().pool.use(async (db) => {
    await db`analyze`
    await holdSnapshot()
    await db`
      update channels
      set deleted_at = now()
      where id = ${channelId}
        and app_id = ${world().appId}`
  })
  const before = await entriesRead()
  await world().cleanup.run()
  const after = await entriesRead()
  for (const table of ['messages', 'read_marks', 'webhook_deliveries', 'link_previews']) {
    const left = await world().db`
      select
      from ${world().db(table)}
      where app_id = ${world().appId}`
    expect.soft(left, table).toHaveLength(0)
    // Each is found once, and rows that refer to it may look it up again. If each step began at the
    // beginning, it would be found four times on average.
    const entries = (after.get(table) ?? 0) - (before.get(table) ?? 0)
    expect.soft(entries, table).toBeGreaterThanOrEqual(ROWS)
    expect.soft(entries, table).toBeLessThan(5 * ROWS)
  }
})

test('after a cleanup its connection waits for locks as long as any other', async () => {
  const { pool, cleanup } = world()
  await cleanup.run()
  const settings = await pool.use((connection) => connection`show lock_timeout`)
  expect(settings).toEqual([{ lockTimeout: '0' }])
})

test('a step of an erasure reads no more channels than it returns', async () => {
  const { db, appId, pool } = world()
  const userIds = await insertUsers(world(), 'gone', 2)
  await pool.use(async (connection) => {
    await connection`
      update users
      set deleted_at = now()
      where app_id = ${appId}
        and id = any(${userIds})`
    await connection`
      with created as (
        insert into channels (id, app_id, cid, type, name, created_by)
        select gen_random_uuid(), ${appId}, 'group:many-' || n, 'group', 'Many', 'gone1'
        from generate_series(1, 1000) n
        returning id
      )
      insert into members (app_id, channel_id, user_id, role)
      select ${appId}, id, given, 'member'
      from created
      cross join unnest(${userIds}::text[]) given`
    await connection`analyze`
  })
  // The cleanup of another test must not erase these users.
  onTestFinished(async () => {
    await db`
      update users
      set forgotten_at = now()
      where app_id = ${appId}
        and id = any(${userIds})`
  })
  const before = await entriesRead()
  const found = await pool.use((tx) =>
    selectErasureTargets(tx, { appId, userIds, exceptChannelIds: [], limit: 100 }),
  )
  const after = await entriesRead()
  expect(found).toHaveLength(100)
  const entries = ['members', 'channels'].map(
    (table) => (after.get(table) ?? 0) - (before.get(table) ?? 0),
  )
  for (const each of entries) expect(each).toBeGreaterThanOrEqual(100)
  for (const each of entries) expect(each).toBeLessThan(500)
})

test('a cleanup that was stopped has ended its last step', async () => {
  const { db, appId } = world()
  const dan = await world().user('stopping')
  const { id } = await dan.channels.create({ type: 'group', name: 'Stopping' })
  // The call would wake the cleanup of the server.
  await db`
    update channels
    set deleted_at = now()
    where app_id = ${appId}
      and id = ${id}`
  const other = cleanupElsewhere(world())
  const { stopped } = await whileRowLocked(
    world(),
    (sql) => sql`select from channels where id = ${id} for update`,
    async () => {
      void other.run()
      await waitingForRows(world(), 1)
      const stopped = other.stop()
      const first = [stopped.then(() => 'stopped'), db`select`.then(() => 'waits')]
      expect(await Promise.race(first)).toBe('waits')
      return { stopped }
    },
  )
  await stopped
})
