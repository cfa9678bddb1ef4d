import { connectionWarnings } from '@parley/server/commands/connections'
import { databaseError, throwLate } from '@parley/server/commands/database-error'
import { migrate } from '@parley/server/db/migrate'
import { expect, onTestFinished, test } from 'vitest'
import { startTemporary } from './support/postgres.ts'
import { createSharedDatabase } from './support/roles.ts'

const sizes = { workers: 1, poolSize: 10, jobs: 'on' } as const
const allowed = (count: number) => [
  expect.stringMatching(`^PostgreSQL allows ${count} connections, .* may need 28: raise `),
]

test('a limit of the role or the database warns of too few connections', async () => {
  const shared = await createSharedDatabase()
  onTestFinished(() => shared.drop())
  const { role, urlOf } = await shared.createRole()
  const database = new URL(shared.url).pathname.slice(1)
  const warnings = () => connectionWarnings(urlOf('public'), sizes)
  expect(await warnings()).toEqual([])
  await shared.admin.unsafe(`alter database ${database} connection limit 7`)
  expect(await warnings()).toEqual(allowed(7))
  await shared.admin.unsafe(`alter role ${role} connection limit 5`)
  expect(await warnings()).toEqual(allowed(5))
  await shared.admin.unsafe(`alter database ${database} connection limit -1`)
  expect(await warnings()).toEqual(allowed(5))
  // PostgreSQL holds superusers to neither.
  await shared.admin.unsafe(`alter role ${role} superuser`)
  expect(await warnings()).toEqual([])
})

test('connections that are reserved for other roles are not counted as allowed', async () => {
  const postgres = await startTemporary({ max_connections: '35', reserved_connections: '5' })
  onTestFinished(postgres.stop)
  const shared = await createSharedDatabase(postgres.url)
  onTestFinished(() => shared.drop())
  const { role, urlOf } = await shared.createRole()
  const warnings = () => connectionWarnings(urlOf('public'), sizes)
  expect(await warnings()).toEqual(allowed(27))
  await shared.admin.unsafe(`grant pg_use_reserved_connections to ${role}`)
  expect(await warnings()).toEqual([])
})

test('a start without another connection says where the limit is, late in it too', async () => {
  const shared = await createSharedDatabase()
  onTestFinished(() => shared.drop())
  const { role, urlOf } = await shared.createRole()
  await shared.admin.unsafe(`alter role ${role} connection limit 0`)
  const error = await migrate(urlOf('public')).catch((reason: unknown) => reason)
  const message =
    `The database cannot be used: too many connections for role "${role}". ` +
    'Check the connection limit of the role and of the database, and max_connections'
  expect(databaseError(error).message).toBe(message)
  expect(() => throwLate(error)).toThrow(message)
  // An error that was explained already, or is about something else, stays as it is.
  for (const other of [databaseError(error), new Error('PORT: another program listens')])
    expect(() => throwLate(other)).toThrow(other)
})
