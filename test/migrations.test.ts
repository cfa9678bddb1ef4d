import { randomUUID } from 'node:crypto'
import { connectOnce } from '@parley/server/db/client'
import { migrate } from '@parley/server/db/migrate'
import { readMigrations } from '@parley/server/db/migration-files'
import { expect, onTestFinished, test } from 'vitest'
import { createEmptyDatabase, migrateUpTo } from './support/migrations.ts'

const connect = (url: string) => {
  const sql = connectOnce(url)
  onTestFinished(() => sql.end())
  return sql
}

test('nodes that start at once migrate a database once, indexes built concurrently', async () => {
  const url = await createEmptyDatabase()
  await Promise.all([migrate(url), migrate(url), migrate(url)])
  const sql = connect(url)
  const applied = await sql`
    select hash
    from drizzle.__drizzle_migrations`
  expect(new Set(applied.map(({ hash }) => hash)).size).toBe(applied.length)
})

/** Tables that stay small: an index on them is built before anybody notices. */
const SMALL = new Set(['apps', 'api_keys', 'webhooks', 'before_send_hooks'])
/** The last migration that may lock: released migrations are not changed. */
const LAST_FREE = '0012_channels_of_workspace'

/** The tables that a migration locks against writes for as long as it builds an index on them. */
function lockedTables(statements: string[]) {
  const created = new Set<string>()
  const locked: string[] = []
  for (const statement of statements) {
    const [, table = ''] = /^\s*create table (?:if not exists )?"(\w+)"/i.exec(statement) ?? []
    created.add(table)
    const index = /\bcreate (?:unique )?index (?!concurrently)[^;]*? on (?:only )?"?(\w+)/i
    const [, indexed] = index.exec(statement) ?? []
    if (indexed && !created.has(indexed) && !SMALL.has(indexed)) locked.push(indexed)
  }
  return locked
}

test('migrations build indexes on tables that grow concurrently', () => {
  const later = readMigrations().filter(({ name }) => name > LAST_FREE)
  expect(later.length).toBeGreaterThan(10)
  const locked = later.map(({ name, statements }) => [name, ...lockedTables(statements)])
  expect(locked.filter(([, ...tables]) => tables.length > 0)).toEqual([])
  const index = 'CREATE INDEX "by_name" ON "users" USING btree ("name");'
  expect(lockedTables([index])).toEqual(['users'])
  expect(lockedTables([index.replace('INDEX', 'INDEX CONCURRENTLY')])).toEqual([])
  expect(lockedTables(['CREATE TABLE "users" ("name" text);', index])).toEqual([])
})

test('migrations name no schema: tables may be in another one than public', () => {
  const named = readMigrations().filter(({ statements }) =>
    statements.some((statement) => /"?public"?\./.test(statement)),
  )
  expect(named.map(({ name }) => name)).toEqual([])
})

test('a migration that was interrupted begins again, and leaves valid indexes', async () => {
  const url = await createEmptyDatabase()
  await migrateUpTo(url, '0010_search')
  const sql = connect(url)
  await sql`
    delete from drizzle.__drizzle_migrations
    where id = (select max(id) from drizzle.__drizzle_migrations)`
  await sql`
    update pg_index
    set indisvalid = false
    where indexrelid = 'users_search'::regclass`
  await migrate(url)
  const invalid = await sql`
    select indexrelid::regclass::text
    from pg_index
    where not indisvalid`
  expect(invalid).toHaveLength(0)
})

test('a migration that fails leaves nothing, and those before it are kept', async () => {
  const url = await createEmptyDatabase()
  await migrateUpTo(url, '0006_own_messages')
  const sql = connect(url)
  // The next but one adds this column.
  await sql`alter table messages add column author_seq text`
  await expect(migrate(url)).rejects.toThrow('already exists')
  const [row] = await sql`
    select
      count(*)::int as applied,
      exists (
        select from information_schema.columns
        where column_name = 'active_hour'
      ) as "hasPart"
    from drizzle.__drizzle_migrations`
  expect(row).toEqual({ applied: 8, hasPart: false })
  await sql`alter table messages drop column author_seq`
  await migrate(url)
})

test('open channels from before the migration are listed by their activity', async () => {
  const url = await createEmptyDatabase()
  await migrateUpTo(url, '0007_invites')
  const sql = connect(url)
  const appId = randomUUID()
  await sql`insert into apps (id, name) values (${appId}, 'App')`
  await sql`insert into users (app_id, id) values (${appId}, 'ana')`
  await sql`
    insert into channels (id, app_id, cid, type, created_by, last_activity_at)
    select
      gen_random_uuid(), ${appId}, 'public:' || n, 'public', 'ana',
      '2026-01-01T00:30:00Z'::timestamptz + n * interval '1 hour'
    from generate_series(1, 2500) n`
  await migrate(url)
  const late = await sql`
    select
    from channels
    where active_hour <> last_activity_at - interval '30 minutes'`
  expect(late).toHaveLength(0)
})

test('messages deleted before the migration are counted as tombstones', async () => {
  const url = await createEmptyDatabase()
  await migrateUpTo(url, '0010_search')
  const sql = connect(url)
  const appId = randomUUID()
  await sql`insert into apps (id, name) values (${appId}, 'App')`
  await sql`insert into users (app_id, id) values (${appId}, 'ana'), (${appId}, 'ben')`
  await sql`
    with talk as (
      insert into channels (id, app_id, cid, type, created_by)
      values (gen_random_uuid(), ${appId}, 'group:talk', 'group', 'ana')
      returning id
    )
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments, deleted_at
    )
    select
      gen_random_uuid(), ${appId}, id, case when n < 600 then 'ana' else 'ben' end, n, n,
      '', '{}', '[]', case when n > 498 then now() end
    from talk, generate_series(1, 1000) n`
  await migrate(url)
  const counts = await sql`
    select user_id, part, count
    from tombstone_counts
    order by user_id, part`
  expect(counts.map((row) => Object.values(row))).toEqual([
    ['', 0, 1],
    ['', 1, 500],
    ['', 2, 1],
    ['ana', 0, 1],
    ['ana', 1, 100],
    ['ben', 1, 400],
    ['ben', 2, 1],
  ])
})

test('reused user ids are recognised after the migration', async () => {
  const url = await createEmptyDatabase()
  await migrateUpTo(url, '0035_members_with_role')
  const sql = connect(url)
  const [plain, imported] = [randomUUID(), randomUUID()]
  await sql`insert into apps (id, name) values (${plain}, 'Plain'), (${imported}, 'Imported')`
  // Imported rows may be older than the user.
  await sql`
    insert into imports (app_id, run_id, leased_until)
    values (${imported}, ${randomUUID()}, now())`
  await sql`
    insert into users (app_id, id, token_generation, deleted_at)
    values
      (${plain}, 'again', 1, null), (${plain}, 'first', 0, null), (${plain}, 'gone', 1, now()),
      (${imported}, 'again', 2, null), (${imported}, 'revoked', 1, null)`
  await sql`
    insert into audit (app_id, actor, operation, target)
    values
      (${imported}, 'system', 'users.erased', '{"userIds":["other","again"]}'),
      (${imported}, 'key', 'users.delete', '{"userIds":["revoked"]}'),
      (${plain}, 'system', 'users.erased', '{"userIds":["revoked"]}')`
  await migrate(url)
  const reused = await sql`
    select app_id = ${imported} as "isImported", id
    from users
    where reused_at = created_at
    order by 1, 2`
  expect([...reused]).toEqual([
    { isImported: false, id: 'again' },
    { isImported: true, id: 'again' },
  ])
  const others = await sql`select from users where reused_at is null`
  expect(others).toHaveLength(3)
})
