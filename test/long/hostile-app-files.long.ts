import { readAppFile } from '@parley/server/commands/app-file/read'
import { openConnection, type Tx } from '@parley/server/db/client'
import { transaction } from '@parley/server/db/transaction'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { parleyOn, useFolder } from '../app-files/command.ts'
import { populate } from '../app-files/fixture.ts'
import { changed } from '../app-files/sealed.ts'
import { cloneDatabase } from '../support/clone-database.ts'
import { unknownId } from '../support/ids.ts'
import { serveProvider } from '../support/provider.ts'
import { patient } from '../support/until.ts'
import { createWorld, useWorld, type World } from '../support/world.ts'

const world = useWorld()
const folder = useFolder()
/** The other deployment, with an app that hostile files are after. */
let target: World
let dropTarget: () => Promise<void>
let provider: Awaited<ReturnType<typeof serveProvider>>
let victim: Awaited<ReturnType<typeof populate>>

beforeAll(async () => {
  const database = await cloneDatabase()
  provider = await serveProvider()
  target = await createWorld({
    databaseUrl: database.url,
    jobs: { push: provider.settings },
  })
  dropTarget = async () => {
    await target.stop()
    await provider.stop()
    await database.drop()
  }
  victim = await populate(target)
  await populate(world())
  const { appId, databaseUrl } = world()
  const { code, output } = await parleyOn(
    databaseUrl,
    'app:export',
    appId,
    folder.path('all'),
    '--with-secrets',
  )
  expect(code, output).toBe(0)
})
afterAll(() => dropTarget())

const importOf = (name: string, change: (text: string) => string) =>
  parleyOn(target.databaseUrl, 'app:import', folder.copy('all', name, change))

/** The lines up to the end of the rows of a table. */
const upTo = (text: string, table: string) => {
  const lines = text.split('\n')
  return lines.slice(0, lines.findIndex((line) => line.includes(`"batch":{"table":"${table}"`)) + 1)
}

test('an import that is given up while it runs stores and shows nothing more', async () => {
  const { appId } = world()
  const { databaseUrl, db } = target
  const text = folder.read('all')
  const first = `${upTo(text, 'channels').join('\n')}\n`
  const connection = openConnection({ url: databaseUrl, applicationName: 'parley-app-file' })
  onTestFinished(() => connection.end())
  async function* body() {
    yield Buffer.from(first)
    expect(await parleyOn(databaseUrl, 'app:discard', appId)).toMatchObject({ code: 0 })
    yield Buffer.from(text.slice(first.length))
  }
  const inTransaction = <T>(work: (tx: Tx) => Promise<T>) => transaction(connection, work)
  await expect(readAppFile({ body: body(), inTransaction, hasPush: false })).rejects.toThrow(
    'it was given up',
  )
  expect(await db`select from app_imports`).toEqual([])
  const noted = await db`
    select actor
    from audit
    where operation = 'apps.discard'`
  expect([...noted]).toContainEqual({ actor: 'operator' })
  expect(await db`select from members where app_id = ${appId}`).toEqual([])
  await purged()
})

/** Waits until nothing is left of the app that is moved. */
const purged = () =>
  vi.waitFor(async () => {
    await target.cleanup.run()
    expect(
      await target.db`
        select
        from apps
        where id = ${world().appId}`,
    ).toEqual([])
  }, patient)

/** Deletes the app that was moved. Resolves to the calls of the provider since then. */
async function removedSince(callsBefore: number) {
  await target.operator.apps.delete({ appId: world().appId })
  await purged()
  const removals = () =>
    provider.calls.slice(callsBefore).filter(({ method }) => method === 'DELETE')
  await vi.waitFor(() => expect(removals().length).toBeGreaterThan(2), patient)
  return removals().map(({ path }) => path)
}

test('files that do not end where they should are refused', async () => {
  const end = (text: string) => text.slice(text.lastIndexOf('{"end"'))
  const some = (text: string) => upTo(text, 'users')
  const { row } = JSON.parse(some(folder.read('all')).at(-2) ?? '')
  const many = Array.from({ length: 1_001 }, (_, n) =>
    JSON.stringify({ row: { ...row, id: `user-${n}` } }),
  )
  const counts = JSON.stringify({ end: { rows: { apps: 1 }, leftOut: {} } })
  const changes: [string, (text: string) => string, RegExp][] = [
    [
      'nothing',
      (text) => `${text.split('\n')[0]}\n${counts.replace('1', '0')}\n`,
      /^another import/,
    ],
    ['more', (text) => [...some(text), ...many, ''].join('\n'), /^line \d+: the batch is larger/],
    ['rest', (text) => [...some(text), many[0], counts, ''].join('\n'), /^line \d+: not a line of/],
    ['less', (text) => [...upTo(text, 'apps'), counts, ''].join('\n'), /^another import of this/],
    ['twice', (text) => `${text}${end(text)}`, /^line \d+: data after the end line$/],
  ]
  for (const [name, change, message] of changes)
    expect((await importOf(name, change)).output, name).toMatch(message)
  const shown = await target.operator.apps.list()
  expect(shown.apps.map(({ id }) => id)).not.toContain(world().appId)
  await parleyOn(target.databaseUrl, 'app:discard', world().appId)
  await purged()
})

test('rows of another app, and rows that refer to another app, are refused', async () => {
  const { db, appId } = target
  const [message] = await db`
    select id
    from messages
    where app_id = ${appId}
      and seq = 1`
  const [invite] = await db`
    select id
    from workspace_invites
    where app_id = ${appId}`
  const messageId = message?.id
  const before = await tally()
  const callsBefore = provider.calls.length
  // In the order of the tables, so that each import goes on where the one before ended.
  await expectForeign('apps', 'name', { id: unknownId })
  await expectForeign('users', '"id": "ana"', { app_id: appId, id: 'mallory' })
  await expectForeign('workspace_invite_uses', 'invite_id', { invite_id: invite?.id })
  // An invite that ends meanwhile stays, for its uses.
  await db`
    update workspace_invites
    set expires_at = '2020-01-01'
    where app_id = ${world().appId}`
  await target.cleanup.run()
  await expectForeign('messages', '"A reply"', { parent_id: messageId })
  await expectForeign('messages', '"A reply"', { quoted_id: messageId })
  await expectForeign('reactions', 'emoji', { message_id: messageId })
  await expectForeign('pins', 'pinned_by', { message_id: messageId })
  await expectForeign('read_marks', 'read_at', { channel_id: victim.channelId })
  await expectForeign('audit', 'operation', { app_id: null })
  await expectForeign('api_keys', 'hash', { app_id: appId })
  await expectForeign('webhooks', 'url', { app_id: appId })
  expect(await tally()).toEqual(before)
  const whole = await parleyOn(target.databaseUrl, 'app:import', folder.path('all'))
  expect(whole.code, whole.output).toBe(0)
  // Discarded imports left the devices of their users where they are: each is removed once.
  const removed = await removedSince(callsBefore)
  expect(new Set(removed).size).toBe(removed.length)
})

async function expectForeign(table: string, mark: string, values: Record<string, unknown>) {
  const { output } = await importOf('foreign', changed(table, mark, values))
  expect(output, table).toBe(`${table}: the file has rows of another app`)
}

/** How much there is of the other app. */
const tally = () => target.db`
  select
    (select count(*) from users where app_id = ${target.appId}) as users,
    (select count(*) from messages where app_id = ${target.appId}) as messages,
    (select count(*) from reactions where app_id = ${target.appId}) as reactions,
    (select count(*) from api_keys where app_id = ${target.appId}) as keys,
    (select count(*) from audit where app_id is null) as entries`

test('importing an app into a service again gives the service a new event epoch', async () => {
  const { appId } = world()
  const { databaseUrl, db } = target
  const epoch = () => db`select value from service where key = 'epoch'`
  const callsBefore = provider.calls.length
  await parleyOn(databaseUrl, 'app:import', folder.path('all'))
  const live = await parleyOn(databaseUrl, 'app:discard', appId)
  expect(live).toEqual({ code: 1, output: 'There is no unfinished import of this app' })
  await removedSince(callsBefore)
  await db`update service set value = 'of-the-target' where key = 'epoch'`
  const again = await parleyOn(databaseUrl, 'app:import', folder.path('all'))
  expect(again.output).toContain('New event epoch: all clients load everything again')
  expect(await epoch()).not.toEqual([{ value: 'of-the-target' }])
  await removedSince(provider.calls.length)
})
