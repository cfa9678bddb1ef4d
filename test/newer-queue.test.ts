import { prepareSchema } from '@parley/server/commands/open'
import { connectOnce } from '@parley/server/db/client'
import { inspect, requireMigrated } from '@parley/server/db/migrate'
import { migrateQueue } from '@parley/server/jobs/queue'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { parleyOn } from './app-files/command.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
beforeAll(() => migrateQueue(world().databaseUrl))

const start = { waitSeconds: 0, jobs: 'on' } as const

/** Adds a migration, as if a newer version had migrated the tables of the queue. */
async function addQueueMigration(breaking: boolean) {
  const sql = connectOnce(world().databaseUrl)
  onTestFinished(async () => {
    await sql`delete from graphile_worker.migrations where id = 999`
    await sql.end()
  })
  await sql`insert into graphile_worker.migrations (id, breaking) values (999, ${breaking})`
}

const NEWER =
  'The database cannot be used: its job queue is newer than this version of Parley. ' +
  'Start the version that migrated it, or a newer one'

test('a job queue of a newer version is refused by a start, parley check and others', async () => {
  const url = world().databaseUrl
  await addQueueMigration(true)
  for (const migrateOnStart of [true, false])
    await expect(prepareSchema(url, { ...start, migrateOnStart })).rejects.toThrow(NEWER)
  expect(await parleyOn(url, 'migrate')).toEqual({ code: 1, output: NEWER })
  vi.stubEnv('PORT', '0')
  onTestFinished(() => void vi.unstubAllEnvs())
  const checked = await parleyOn(url, 'check')
  expect(checked.code).toBe(1)
  expect(checked.output.split('\n').at(-1)).toBe(NEWER)
})

test('a start without jobs does not mind a job queue of a newer version', async () => {
  const url = world().databaseUrl
  await addQueueMigration(true)
  for (const migrateOnStart of [true, false])
    await prepareSchema(url, { ...start, jobs: 'off', migrateOnStart })
  expect(await inspect(url, { hasJobs: false })).toMatchObject({ isQueueBehind: false })
})

test('a job queue with a compatible migration of a newer version is used', async () => {
  await addQueueMigration(false)
  await requireMigrated(world().databaseUrl)
  await prepareSchema(world().databaseUrl, { ...start, migrateOnStart: true })
})
