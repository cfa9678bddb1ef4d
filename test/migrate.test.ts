import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectOnce } from '@parley/server/db/client'
import { inspect, migrate, requireMigrated } from '@parley/server/db/migrate'
import { readMigrations } from '@parley/server/db/migration-files'
import { migrateQueue } from '@parley/server/jobs/queue'
import { expect, onTestFinished, test } from 'vitest'
import { parleyOn } from './app-files/command.ts'
import { createEmptyDatabase, migrateUpTo } from './support/migrations.ts'
import { bundled, production } from './support/start.ts'
import { until } from './support/until.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const last = readMigrations().at(-1)?.name

/** Runs a command of `parley` in a process of its own, in production. */
const parley = (command: string, variables: Record<string, string>) =>
  new Promise<{ code: unknown; output: string }>((resolve) => {
    const env = { PATH: process.env.PATH, ...production, ...complete, ...variables }
    const options = { cwd: tmpdir(), env, timeout: 150_000 }
    execFile(process.execPath, bundled(command), options, (error, stdout, stderr) => {
      const code = error ? (error.code ?? error.signal) : 0
      resolve({ code, output: stdout + stderr })
    })
  })
const complete = {
  PORT: '0',
  PUBLIC_URL: 'https://chat.example.com',
  TRUST_PROXY: '1',
  ALLOWED_ORIGINS: 'https://app.example.com',
  INVITE_URL: 'https://app.example.com/join?invite={token}',
}

const oneBehind = async () => {
  const url = await createEmptyDatabase()
  await migrateUpTo(url, readMigrations().at(-2)?.name ?? '')
  await migrateQueue(url)
  return url
}

test('with MIGRATE_ON_START=off a start needs parley migrate, which says what it did', async () => {
  const DATABASE_URL = await oneBehind()
  const variables = { DATABASE_URL, MIGRATE_ON_START: 'off' }
  const [start, worker, check] = await Promise.all([
    parley('start', variables),
    parley('worker', variables),
    parley('check', variables),
  ])
  const refusal =
    'The database cannot be used: its schema lacks 1 migration, and MIGRATE_ON_START=off. ' +
    'Run: parley migrate'
  const fatal = ({ code, output }: { code: unknown; output: string }) => ({
    code,
    ...JSON.parse(output),
  })
  const expected = { code: 1, level: 'fatal', msg: refusal, time: expect.any(String) }
  expect([fatal(start), fatal(worker)]).toEqual([expected, expected])
  expect(check).toMatchObject({
    code: 1,
    output: expect.stringContaining(`Schema: lacks ${last}\n${refusal}\n`),
  })
  expect(await parley('migrate', { DATABASE_URL })).toEqual({
    code: 0,
    output: `Applied ${last}\nThe schema is up to date\n`,
  })
  expect(await migrate(DATABASE_URL)).toEqual([])
  await expect(requireMigrated(DATABASE_URL)).resolves.toBeUndefined()
})

test('with MIGRATE_ON_START=off the tables of the job queue need parley migrate, too', async () => {
  const DATABASE_URL = await createEmptyDatabase()
  await migrate(DATABASE_URL)
  await expect(requireMigrated(DATABASE_URL)).rejects.toThrow(
    'its job queue lacks migrations, and MIGRATE_ON_START=off. Run: parley migrate',
  )
  const variables = { DATABASE_URL, MIGRATE_ON_START: 'off' }
  const [check, withoutJobs] = await Promise.all([
    parley('check', variables),
    parley('check', { ...variables, JOBS: 'off' }),
  ])
  expect(check).toMatchObject({
    code: 1,
    output: expect.stringContaining("Schema: lacks the job queue's migrations\n"),
  })
  // A process that runs no jobs does not need these tables.
  await expect(requireMigrated(DATABASE_URL, { hasJobs: false })).resolves.toBeUndefined()
  expect(withoutJobs).toMatchObject({
    code: 0,
    output: expect.stringContaining('Schema: up to date\n'),
  })
  const { output } = await parley('migrate', { DATABASE_URL })
  expect(output).toBe("Applied the job queue's migrations\nThe schema is up to date\n")
  await expect(requireMigrated(DATABASE_URL)).resolves.toBeUndefined()
})

test.each([
  ['in a transaction', '0013_custom'],
  ['statement by statement', '0024_quotes'],
])('a migration %s that waits for a backup does not block other statements', async (_, name) => {
  const url = await createEmptyDatabase()
  const next = readMigrations().findIndex((migration) => migration.name === name)
  await migrateUpTo(url, readMigrations()[next - 1]?.name ?? '')
  const [backup, others] = [connectOnce(url), connectOnce(url)]
  onTestFinished(async () => {
    await Promise.all([backup.end(), others.end()])
  })
  const notices: string[] = []
  let hasFinished = false
  let finished: Promise<unknown> = Promise.resolve()
  await backup.begin(async (tx) => {
    // pg_dump holds this lock for as long as it runs.
    await tx`lock table messages in access share mode`
    const onNotice = (line: string) => void notices.push(line)
    finished = migrate(url, { onNotice }).finally(() => (hasFinished = true))
    finished.catch(() => {})
    for (const tries of [1, 2]) {
      await until(() => isWaiting(others))
      expect(await others`select from messages`).toEqual([])
      await until(() => notices.length >= tries)
    }
    expect(hasFinished).toBe(false)
  })
  expect(await finished).toContain(name)
  expect(await inspect(url)).toMatchObject({ pending: [] })
  expect(notices[1]).toBe(
    `migration ${name} waits for a table that others keep locked, like a backup: ` +
      'next try in 2 s',
  )
})

test('an index that a deadlock leaves half built is built again', async () => {
  const url = await createEmptyDatabase()
  await migrateUpTo(url, '0025_app_imports')
  const [reader, writer, others] = [connectOnce(url), connectOnce(url), connectOnce(url)]
  onTestFinished(async () => {
    await Promise.all([reader, writer, others].map((sql) => sql.end()))
  })
  const notices: string[] = []
  const waiting = (count: number) =>
    until(async () => {
      const waiting = await others`
        select from pg_stat_activity
        where datname = current_database()
          and wait_event_type = 'Lock'`
      return waiting.length === count
    })
  const { finished } = await reader.begin('isolation level repeatable read', async (tx) => {
    // The builder is to find the deadlock.
    await tx`set local deadlock_timeout = '1min'`
    await tx`select from messages`
    const { finished, locked } = await writer.begin(async (tx2) => {
      await tx2`lock table messages in row exclusive mode`
      const finished = migrate(url, { onNotice: (line) => void notices.push(line) })
      finished.catch(() => {})
      await waiting(1)
      // It waits for the builder, which will wait for its snapshot.
      const locked = tx`lock table messages in share mode`.execute()
      await waiting(2)
      return { finished: [finished], locked: [locked] } as const
    })
    await locked[0]
    return { finished }
  })
  expect(await finished[0]).toContain('0026_message_roots')
  expect(notices).toHaveLength(1)
  const invalid = await others`select from pg_index where not indisvalid`
  expect(invalid).toEqual([])
})

const isWaiting = async (db: ReturnType<typeof connectOnce>) => {
  const waiting = await db`
    select
    from pg_locks
    where relation = 'messages'::regclass
      and not granted`
  return waiting.length > 0
}

test('a schema that a newer version has migrated is refused, and is not changed', async () => {
  const url = await oneBehind()
  const sql = connectOnce(url)
  onTestFinished(() => sql.end())
  await sql`
    insert into drizzle.__drizzle_migrations (hash, created_at)
    values ('of a later version', ${(readMigrations().at(-1)?.writtenAt ?? 0) + 1})`
  for (const open of [migrate, requireMigrated, inspect])
    await expect(open(url)).rejects.toThrow(
      /^its schema is newer than this version of Parley\. Start the version that migrated it/,
    )
  expect((await parleyOn(url, 'new-epoch')).output).toMatch(
    /^The event epoch was not changed: its schema is newer than this version of Parley\. /,
  )
  expect((await parleyOn(url, 'check')).output).toMatch(
    /^The database cannot be used: its schema is newer .+\. Start the version that migrated it/m,
  )
  const [row] = await sql`
    select count(*)::int
    from drizzle.__drizzle_migrations`
  expect(row?.count).toBe(readMigrations().length)
})

test('parley check says what a start would find, and changes nothing', async () => {
  const { databaseUrl: DATABASE_URL } = world()
  await migrateQueue(DATABASE_URL)
  const empty = await createEmptyDatabase()
  const [good, pending, away, bad] = await Promise.all([
    parley('check', { DATABASE_URL, USER_ADMIN_ACCESS: 'bearer' }),
    parley('check', { DATABASE_URL: empty }),
    parley('check', { DATABASE_URL: 'postgres://parley:hunter2@localhost:1/parley' }),
    parley('check', { DATABASE_URL, PORT: 'x' }),
  ])
  expect(good.code).toBe(0)
  expect(good.output.split('\n')).toEqual([
    'Settings: valid, for production',
    expect.stringMatching(/^Warning: USER_ADMIN_ACCESS=bearer: /),
    expect.stringMatching(/^Database: PostgreSQL \d/),
    'Schema: up to date',
    '',
  ])
  expect(pending.code).toBe(0)
  expect(pending.output).toContain('Schema: empty, lacks all ')
  const sql = connectOnce(empty)
  onTestFinished(() => sql.end())
  expect(
    await sql`
      select
      from pg_namespace
      where nspname = 'drizzle'`,
  ).toHaveLength(0)
  expect(away.code).toBe(1)
  expect(away.output).toMatch(/\nThe database cannot be used: connect ECONNREFUSED [^\n]+\n$/)
  expect(bad).toEqual({
    code: 1,
    output: 'PORT: expected a whole number from 0 to 65535, not "x"\n',
  })
  const nowhere = join(import.meta.filename, 'data')
  const embedded = { DATABASE_URL: '', EMBEDDED_DATABASE: 'yes', DATA_DIR: nowhere }
  expect(await parley('check', embedded)).toMatchObject({
    code: 1,
    output: expect.stringMatching(/\nDATA_DIR: \S+ is not writable \(ENOTDIR\)[^\n]+\n$/),
  })
  const many = await parley('check', { DATABASE_URL, DATABASE_POOL_SIZE: '190', WORKERS: '2' })
  // In a rolling restart a third process runs beside the two.
  expect(many.output).toMatch(/^Warning: PostgreSQL allows \d+ connections, .* may need 600: /m)
})
