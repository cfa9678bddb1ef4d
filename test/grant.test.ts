import { prepareSchema } from '@parley/server/commands/open'
import { expect, onTestFinished, test, vi } from 'vitest'
import { parleyOn } from './app-files/command.ts'
import { createSharedDatabase } from './support/roles.ts'

test('parley grant gives a role the rows of our tables, and nothing else', async () => {
  const shared = await createSharedDatabase()
  onTestFinished(() => shared.drop())
  const { role } = await shared.createRole()
  expect(await parleyOn(shared.url, 'grant', 'nobody-at-all')).toEqual({
    code: 1,
    output: 'There is no role "nobody-at-all". Make one: create role … login',
  })
  const [empty] = await shared.admin`select to_regclass('messages') is null as "isUntouched"`
  expect(empty).toEqual({ isUntouched: true })
  const granted = await parleyOn(shared.url, 'grant', role)
  expect(granted, granted.output).toMatchObject({ code: 0 })
  await shared.admin`create table public.of_another_application (id int)`
  // The role has no rights to it, as if a migration had made it since.
  await shared.admin.unsafe(`revoke all on messages from ${role}`)
  expect(await parleyOn(shared.url, 'migrate')).toMatchObject({ code: 0 })
  const [rights] = await shared.admin`
    select
      has_table_privilege(${role}, 'of_another_application', 'select') as "isGuest",
      has_table_privilege(${role}, 'messages', 'insert, update, delete') as "isWriter",
      has_table_privilege(${role}, 'messages', 'truncate') as "canTruncate",
      has_table_privilege(${role}, 'drizzle.__drizzle_migrations', 'insert') as "canMigrate",
      has_schema_privilege(${role}, 'drizzle', 'create') as "canCreate"`
  expect(rights).toEqual({
    isGuest: false,
    isWriter: true,
    canTruncate: false,
    canMigrate: false,
    canCreate: false,
  })
  expect(await shared.admin`select operation, target from audit`).toEqual([
    { operation: 'parley.grant', target: { role } },
  ])
})

test('a role without rights gets an error that names parley grant', async () => {
  const shared = await createSharedDatabase()
  onTestFinished(() => shared.drop())
  const { urlOf } = await shared.createRole()
  expect(await parleyOn(shared.url, 'migrate')).toMatchObject({ code: 0 })
  const url = new URL(urlOf('public'))
  url.search = ''
  vi.stubEnv('MIGRATE_ON_START', 'off')
  onTestFinished(() => void vi.unstubAllEnvs())
  for (const command of ['check', 'new-epoch']) {
    const { code, output } = await parleyOn(url.href, command)
    expect([command, code]).toEqual([command, 1])
    expect(output).toMatch(
      /permission denied for .+\. Check the rights of this role: `parley grant`/,
    )
  }
})

test('a role whose rights were all revoked does not get them back by a migration', async () => {
  const shared = await createSharedDatabase()
  onTestFinished(() => shared.drop())
  const [kept, gone] = [await shared.createRole(), await shared.createRole()]
  for (const { role } of [kept, gone])
    expect(await parleyOn(shared.url, 'grant', role)).toMatchObject({ code: 0 })
  await shared.admin.unsafe(`
    revoke all on all tables in schema public from ${gone.role};
    revoke all on messages from ${kept.role}`)
  expect(await parleyOn(shared.url, 'migrate')).toMatchObject({ code: 0 })
  const rights = await shared.admin`
    select has_table_privilege(role, 'messages', 'select') as "mayRead"
    from unnest(${[kept.role, gone.role]}::text[]) as role`
  expect(rights).toEqual([{ mayRead: true }, { mayRead: false }])
})

test('a start grants what was migrated since, also if the one that migrated failed', async () => {
  const shared = await createSharedDatabase()
  onTestFinished(() => shared.drop())
  const { role } = await shared.createRole()
  expect(await parleyOn(shared.url, 'grant', role)).toMatchObject({ code: 0 })
  const mayRead = async () => {
    const [row] = await shared.admin`
      select has_table_privilege(${role}, 'graphile_worker._private_jobs', 'select') as may`
    return row?.may
  }
  const start = { migrateOnStart: true, waitSeconds: 5, jobs: 'on' } as const
  const revoke = `revoke select on graphile_worker._private_jobs from ${role}`
  await shared.admin.unsafe(revoke)
  await prepareSchema(shared.url, start)
  expect(await mayRead()).toBe(false)
  // This looks like the next version of the queue, whose last migration changes nothing.
  await shared.admin`
    delete from graphile_worker.migrations
    where id = (select max(id) from graphile_worker.migrations)`
  await prepareSchema(shared.url, { ...start, jobs: 'off' })
  await shared.admin.unsafe(`
    ${revoke};
    create function refuse() returns event_trigger
    language plpgsql as $$ begin raise 'no grants today'; end $$;
    create event trigger refused on ddl_command_start when tag in ('GRANT')
    execute function refuse()`)
  await expect(prepareSchema(shared.url, start)).rejects.toThrow('no grants today')
  await shared.admin`drop event trigger refused`
  expect(await mayRead()).toBe(false)
  await prepareSchema(shared.url, start)
  expect(await mayRead()).toBe(true)
})
