import { expect, onTestFinished, test, vi } from 'vitest'
import { cleanupElsewhere } from '../support/cleanup.ts'
import { cloneDatabase } from '../support/clone-database.ts'
import { patient } from '../support/until.ts'
import { createWorld, useWorld } from '../support/world.ts'
import { parleyOn, useFolder } from './command.ts'

const world = useWorld()
const folder = useFolder()

async function exportApp(name: string, appId: string) {
  const path = folder.path(name)
  const { code, output } = await parleyOn(world().databaseUrl, 'app:export', appId, path)
  expect(code, output).toBe(0)
  return path
}

async function importApp(databaseUrl: string, path: string) {
  const { code, output } = await parleyOn(databaseUrl, 'app:import', path)
  expect(code, output).toBe(0)
}

test('the log before a time has old entries that an import stored after newer ones', async () => {
  const { operator, db } = world()
  const { id: appId } = await operator.apps.create({ name: 'Moved' })
  await db`
    insert into audit (app_id, actor, operation, target, created_at)
    select
      ${appId}, 'key', 'messages.delete', jsonb_build_object('n', n),
      '2020-01-01T00:00:00Z'::timestamptz + n * interval '1 minute'
    from generate_series(1, 100) n`
  const path = await exportApp('moved', appId)
  const database = await cloneDatabase()
  const target = await createWorld({ databaseUrl: database.url })
  onTestFinished(async () => {
    await target.stop()
    await database.drop()
  })
  await target.db`
    insert into audit (app_id, actor, operation, target)
    select ${target.appId}, 'key', 'messages.delete', '{}'
    from generate_series(1, 10000)`
  await importApp(target.databaseUrl, path)
  const createdBefore = '2020-02-01T00:00:00Z'
  const { audit } = target.operator
  type Page = Awaited<ReturnType<typeof audit.list>>
  type Query = { createdBefore: string; limit: number; cursor?: string }
  const lists: ((query: Query) => Promise<Page>)[] = [
    (query) => audit.list(query),
    (query) => audit.listOfApp({ appId, ...query }),
  ]
  for (const list of lists) {
    const numbers: unknown[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Page = await list({ createdBefore, limit: 30, ...(cursor !== '' && { cursor }) })
      numbers.push(...page.entries.map(({ target }) => target.n))
      cursor = page.nextCursor
    }
    expect(numbers).toEqual(Array.from({ length: 100 }, (_, index) => 100 - index))
  }
  const newest = await audit.list({ limit: 2 })
  expect(newest.entries.map((entry) => [entry.appId, entry.operation])).toEqual([
    [appId, 'apps.import'],
    [target.appId, 'messages.delete'],
  ])
})

test('an app that is deleted and imported again has each entry of its log once', async () => {
  const { operator, db, databaseUrl } = world()
  const { id: appId } = await operator.apps.create({ name: 'Back again' })
  // Two acts that are the same to the last column.
  await db`
    insert into audit (app_id, actor, operation, target, created_at)
    select ${appId}, actor, 'messages.delete', '{}', '2020-01-01T00:00:00Z'
    from unnest(array['key', 'key', 'operator', 'operator']) actor`
  const operations = async () =>
    (await operator.audit.listOfApp({ appId })).entries.map(({ operation }) => operation)
  const before = await operations()
  const path = await exportApp('back', appId)
  await operator.apps.delete({ appId })
  const cleanup = cleanupElsewhere(world())
  await vi.waitFor(async () => {
    await cleanup.pass()
    expect(await operations()).toContain('apps.purged')
  }, patient)
  await importApp(databaseUrl, path)
  const after = await operations()
  expect(after.filter((operation) => operation === 'apps.create')).toHaveLength(1)
  const added = ['apps.export', 'apps.delete', 'apps.purged', 'apps.import']
  expect(after.filter((operation) => !added.includes(operation)).sort()).toEqual(before.sort())
})
