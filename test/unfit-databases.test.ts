import { connectOnce } from '@parley/server/db/client'
import { inspect, migrate, requireMigrated } from '@parley/server/db/migrate'
import { expect, inject, onTestFinished, test } from 'vitest'
import { parleyOn } from './app-files/command.ts'
import { createEmptyDatabase, migrateUpTo } from './support/migrations.ts'
import { databaseUrl } from './support/postgres.ts'
import { createSharedDatabase } from './support/roles.ts'
import { until } from './support/until.ts'

const openings = [migrate, requireMigrated, inspect]

test('a role that may not migrate is refused with what to do, by parley check too', async () => {
  const shared = await createSharedDatabase()
  try {
    const { role, urlOf } = await shared.createRole()
    const url = new URL(urlOf('public'))
    url.searchParams.delete('search_path')
    const refusal =
      `the role ${role} may not change the schema of the database ${url.pathname.slice(1)}. ` +
      'Run parley migrate as its owner and set MIGRATE_ON_START=off, or make it the owner: ' +
      `alter database ${url.pathname.slice(1)} owner to ${role}`
    await expect(migrate(url.href)).rejects.toThrow(refusal)
    const unfit = { code: 1, output: expect.stringContaining(refusal) }
    expect(await parleyOn(url.href, 'check')).toMatchObject(unfit)
    // With all grants and nothing to migrate, a start would still begin by changing the schema.
    expect(await parleyOn(shared.url, 'grant', role)).toMatchObject({ code: 0 })
    expect(await parleyOn(url.href, 'check')).toMatchObject(unfit)
    expect(await inspect(url.href)).toMatchObject({ pending: [] })
    await shared.admin.unsafe(`drop owned by ${role}`)
    // A role may make schemas, and yet have no right to that of the tables.
    await shared.admin.unsafe(`grant create on database ${url.pathname.slice(1)} to ${role}`)
    await shared.admin.unsafe('drop schema drizzle cascade')
    await expect(migrate(url.href)).rejects.toThrow(refusal)
    await shared.admin.unsafe(`drop owned by ${role}`)
  } finally {
    await shared.drop()
  }
})

test('a database whose encoding lacks emoji is refused, and SQL_ASCII is not', async () => {
  const server = inject('databaseUrl')
  const admin = connectOnce(server)
  const urls = ['latin1', 'sql_ascii'].map((encoding) => {
    const name = `${inject('template')}_${process.pid}_${encoding}`
    return { encoding, name, url: databaseUrl(server, name) }
  })
  onTestFinished(async () => {
    for (const { name } of urls) await admin.unsafe(`drop database if exists ${name} with (force)`)
    await admin.end()
  })
  for (const { encoding, name } of urls)
    await admin.unsafe(`
      create database ${name}
      encoding '${encoding}' locale_provider libc locale 'C' template template0`)
  const [latin1, sqlAscii] = urls
  for (const open of openings)
    await expect(open(latin1?.url ?? '')).rejects.toThrow(
      /^the database has the encoding LATIN1, .* create database … encoding 'UTF8' template/,
    )
  expect((await inspect(sqlAscii?.url ?? '')).pending).not.toEqual([])
})

test('a replica is refused, and waited for, since it may be about to take over', async () => {
  const url = await createEmptyDatabase()
  const sql = connectOnce(url)
  onTestFinished(() => sql.end())
  await sql.unsafe(`alter database ${sql.options.database} set default_transaction_read_only = on`)
  for (const open of openings)
    await expect(open(url)).rejects.toMatchObject({
      // One of the codes for which a start waits.
      code: '25006',
      message: expect.stringMatching(/^the database only reads: DATABASE_URL leads to a replica/),
    })
})

test('a migration may take longer than the statements of its role', async () => {
  const url = await createEmptyDatabase()
  await migrateUpTo(url, '0025_app_imports')
  const [reader, others] = [connectOnce(url), connectOnce(url)]
  onTestFinished(async () => {
    await Promise.all([reader.end(), others.end()])
  })
  const limitMs = 200
  const { database } = others.options
  await others.unsafe(`alter database ${database} set statement_timeout = ${limitMs}`)
  let refusal: unknown
  const [finished] = await reader.begin('isolation level repeatable read', async (tx) => {
    // The index that is built concurrently waits for the end of this snapshot.
    await tx`select from messages`
    const finished = migrate(url).catch((error: unknown) => {
      refusal = error
    })
    await until(async () => {
      const building = await others`
        select
        from pg_stat_activity
        where datname = current_database()
          and application_name = 'parley-migrations'
          and query ilike '%create index concurrently%'
          and now() - query_start > ${2 * limitMs} * interval '1 ms'`
      return refusal !== undefined || building.length > 0
    })
    return [finished] as const
  })
  expect(refusal).toBeUndefined()
  expect(await finished).toContain('0026_message_roots')
})
