import { statSync } from 'node:fs'
import { appTables, leftOut } from '@parley/server/commands/app-file/tables'
import { connectOnce } from '@parley/server/db/client'
import { readMigrations } from '@parley/server/db/migration-files'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { cleanupElsewhere } from '../support/cleanup.ts'
import { cloneDatabase } from '../support/clone-database.ts'
import { withoutCleanup } from '../support/locks.ts'
import { refusal } from '../support/refusal.ts'
import { RawSocket, useSockets } from '../support/socket.ts'
import { createWorld, type User, useWorld, type World } from '../support/world.ts'
import { parleyOn, useFolder } from './command.ts'
import { populate, rowsOf, without } from './fixture.ts'
import { changed } from './sealed.ts'

// No part of a growing message is stored, unless a test asks for it.
const never = 3_600_000
const world = useWorld({ timings: { streamStoreMs: never, reconcileMs: never } })
const terminatedLater = useSockets()
const folder = useFolder()
/** The other deployment, whose numbering of events has another epoch. */
let target: World
let dropTarget: () => Promise<void>
let ana: User
let ben: User
let channelId = ''
let deletedId = ''
let growingId = ''
let endingId = ''
/** Results of the commands that moved the app, and its rows in both databases right after. */
let said: Record<'exported' | 'imported' | 'plain', Awaited<ReturnType<typeof parleyOn>>>
let rows: Record<'before' | 'after', Awaited<ReturnType<typeof rowsOf>>>
/** The position of a client of the old deployment in the channel at that time. */
let position: { epoch: string; offset: number }

beforeAll(async () => {
  const database = await cloneDatabase()
  target = await createWorld({ databaseUrl: database.url })
  await target.db`update service set value = 'target' where key = 'epoch'`
  dropTarget = async () => {
    await target.stop()
    await database.drop()
  }
  // Without a cleanup, the app is exported before anything of the deletions is erased.
  await withoutCleanup(world(), moveApp)
})
afterAll(() => dropTarget())

async function moveApp() {
  ;({ ana, ben, channelId, growingId, deletedId, endingId } = await populate(world()))
  const { appId, databaseUrl } = world()
  const [all, plain] = [folder.path('all'), folder.path('plain')]
  const exported = await parleyOn(databaseUrl, 'app:export', appId, all, '--with-secrets')
  vi.stubEnv('PUSH_SECRET_KEY', 'of-the-other-deployment')
  said = {
    exported,
    imported: await parleyOn(target.databaseUrl, 'app:import', all),
    plain: await parleyOn(databaseUrl, 'app:export', appId, plain),
  }
  folder.copy('all', 'cut', (text) => text.slice(0, text.indexOf('"table":"members"')))
  rows = { before: await rowsOf(world(), appId), after: await rowsOf(target, appId) }
  // The hook would be asked about each message.
  await target.db`delete from before_send_hooks where app_id = ${appId}`
  const old = await RawSocket.connect(world(), ana)
  position = (await old.ask({ id: 2, subscribe: { channel: topic() } })).subscribe
  old.terminate()
}
const topic = () => `chat:${world().appId}:${channelId}`

test.skipIf(process.platform === 'win32')('no other user of the machine may read the file', () => {
  expect(statSync(folder.path('all')).mode & 0o777).toBe(0o600)
})

test('every table of the schema is exported, or listed as left out', async () => {
  const tables = await world().db`
    select tablename
    from pg_tables
    where schemaname = 'public'`
  const known = [...appTables.map(({ name }) => name), ...Object.keys(leftOut)]
  expect(known.sort()).toEqual(tables.map(({ tablename }) => tablename).sort())
})

test('an imported app equals the exported one in every column', async () => {
  const { appId } = world()
  const { exported, imported } = said
  const { before, after } = rows
  expect(exported.code, exported.output).toBe(0)
  expect(imported.code, imported.output).toBe(0)
  expect(imported.output).toContain(`The app ${appId} is open`)
  expect(imported.output).not.toMatch(/epoch|push provider/)
  const noted = await target.db`
    select actor
    from audit
    where app_id = ${appId} and operation = 'apps.import'`
  expect(noted).toMatchObject([{ actor: 'operator' }])
  for (const [name, some] of Object.entries(after)) expect.soft(some, name).not.toEqual([])
  // This reaction was to a message that is deleted.
  expect(String(before.reactions)).toContain('👎')
  expect(String(after.reactions)).not.toContain('👎')
  expect(String(after.workspace_invites)).not.toContain(endingId)
  // Rows about the commands, the message that grew, the deleted channel, the reaction, and the
  // invite that is about to end.
  const others = ['"apps.', growingId, `"${deletedId}"`, '👎', endingId]
  expect(without(after, others)).toEqual(without(before, others))
  expect(
    await target.db`
      select
      from channels
      where id = ${deletedId}`,
  ).toEqual([])
  expect(await target.db`select from app_imports`).toEqual([])
  // Jobs register the devices with the push provider of the new deployment.
  const jobs = await target.db`
    select payload
    from staged_jobs
    where task = 'device'`
  expect(jobs.map(({ payload }) => payload.userId)).toEqual(
    after.devices?.map((device) => JSON.parse(String(device)).user_id),
  )
})

test('users of an imported app go on where they were, and load everything again', async () => {
  const { epoch, offset } = position
  const moved = target.api({ token: ana.token })
  const socket = await terminatedLater(RawSocket.connect(target, ana))
  const subscribe = { channel: topic(), recover: true, epoch, offset }
  const again = await socket.ask({ id: 2, subscribe })
  expect(again.subscribe).toMatchObject({ epoch: 'target', was_recovering: true })
  expect(again.subscribe).not.toHaveProperty('recovered')
  // The erasure of a user may have added changes here by now.
  expect(again.subscribe.offset).toBeGreaterThanOrEqual(offset)
  const list = await moved.messages.list({ channelId, since_seq: 0 })
  expect(list.messages.find(({ id }) => id === growingId)).toMatchObject({
    text: 'So far, @ben',
    mentions: ['ben'],
    streaming: false,
    interrupted: true,
  })
  const sent = await moved.messages.send({ channelId, text: 'Here now' })
  expect(sent).toMatchObject({ seq: list.maxSeq + 1, rev: again.subscribe.offset + 1 })
  await socket.pushed(({ pub }) => pub?.data.type === 'message.new')
  // The repetition of a send that the old deployment has stored.
  const repeated = await moved.messages.send({ channelId, text: 'Hello', clientId: 'c1' })
  expect(repeated.seq).toBe(1)
})

test('the erasure of a deleted user is completed where the app is imported', async () => {
  const { appId } = world()
  await cleanupElsewhere(target).pass()
  const [row] = await target.db`
    select forgotten_at is not null and forgotten_at < 'infinity' as "isErased"
    from users
    where app_id = ${appId} and id = 'gone'`
  expect(row).toEqual({ isErased: true })
  const texts = await target.db`
    select text
    from messages
    where app_id = ${appId}`
  expect(texts.map(({ text }) => text)).not.toContain('Words of a user who is deleted')
})

test('an existing app or file is not overwritten, and an unknown app is refused', async () => {
  const { appId, databaseUrl } = world()
  const { id: deleted } = await world().operator.apps.create({ name: 'Deleted' })
  await world().db`update apps set deleted_at = now() where id = ${deleted}`
  const [again, over, unknown, gone] = [
    await parleyOn(target.databaseUrl, 'app:import', folder.path('all')),
    await parleyOn(databaseUrl, 'app:export', appId, folder.path('all')),
    await parleyOn(databaseUrl, 'app:export', channelId, '-'),
    await parleyOn(databaseUrl, 'app:export', deleted, '-'),
  ]
  expect([again.code, over.code]).toEqual([1, 1])
  expect(again.output).toMatch(
    /^the app \S+ exists in this database already\. .+ delete it there, .+ has its apps\.purged$/,
  )
  expect(over.output).toBe(`${folder.path('all')} exists: name another file, or delete it first`)
  for (const none of [unknown, gone])
    expect(none).toEqual({ code: 1, output: 'There is no app with this id' })
  for (const id of [appId, 'nothing'])
    expect(await parleyOn(databaseUrl, 'app:discard', id)).toEqual({
      code: 1,
      output: 'There is no unfinished import of this app',
    })
})

test('secrets are left out of a file, which says how many there were', async () => {
  const { appId } = world()
  expect(said.plain.output).toMatch(/^Rows exported: apps 1, users \d+, /)
  expect(said.plain.output).toContain(
    'Left out: api_keys 1, devices 1, webhooks 1, before_send_hooks 1. --with-secrets',
  )
  const text = folder.read('plain')
  expect(text).not.toMatch(/a-push-token|whsec_/)
  expect(folder.read('all')).toMatch(/a-push-token/)
  const leaves = await world().db`
    select actor, target
    from audit
    where app_id = ${appId} and operation = 'apps.export'
    order by id`
  expect(leaves.slice(0, 2)).toEqual([
    { actor: 'operator', target: { hasSecrets: true } },
    { actor: 'operator', target: { hasSecrets: false } },
  ])
})

test.each(['before_send_hooks', 'audit'])(
  'an export that fails at the table %s leaves no file behind',
  async (table) => {
    const { appId, databaseUrl, db } = world()
    const file = folder.path('failed')
    await db`alter table ${db(table)} rename to elsewhere`
    try {
      const failed = await parleyOn(databaseUrl, 'app:export', appId, file, '--with-secrets')
      expect(failed).toEqual({ code: 1, output: expect.stringContaining(table) })
      expect(folder.names('failed')).toEqual([])
    } finally {
      await db`alter table elsewhere rename to ${db(table)}`
    }
  },
)

test('a damaged, foreign, newer or empty file is refused, and its app is not shown', async () => {
  const database = await cloneDatabase()
  const db = connectOnce(database.url)
  const { appId } = world()
  const schema = readMigrations().at(-1)?.name ?? ''
  const damages: [string, (text: string) => string, RegExp][] = [
    ['word', (text) => text.replace('A reply', 'A Reply'), /^line \d+: the checksum .* damaged$/],
    ['lost', (text) => text.replace(/.*A reply.*\n/, ''), /^line \d+: the checksum/],
    ['line', (text) => text.replace(/\n(\{"row".*A reply)/, '\n{"ro$1'), /not a line of an app/],
    ['format', (text) => text.replace('"format":1', '"format":2'), /^the file has format 2, of/],
    ['schema', (text) => text.replace(schema, '9999_later'), /has the schema 9999_later, and this/],
    ['other', () => '{"record":"user"}\n', /^line 1: this is no file of parley app:export$/],
    ['empty', () => '', /^the file is empty, or cut off in its first line$/],
    ['begun', (text) => text.slice(0, 40), /^the file is empty, or cut off in its first line$/],
    [
      'header',
      (text) => text.replace(/"exportedAt":"2/, '"exportedAt":"1'),
      /^line \d+: the check/,
    ],
    ['counts', (text) => text.replace(/("end".*"users":)\d+/, '$17'), /^users: expected 73? rows/m],
  ]
  try {
    for (const [name, change, message] of damages) {
      const file = folder.copy('plain', name, change)
      expect(await parleyOn(database.url, 'app:import', file), name).toEqual({
        code: 1,
        output: expect.stringMatching(message),
      })
      const shown = await db`
        select
        from apps
        where id = ${appId}
          and deleted_at is null`
      expect(shown, name).toEqual([])
      // The rows of the app are removed, as if no import had begun.
      for (const { name } of appTables.toReversed())
        if (name !== 'apps' && name !== 'audit')
          await db`delete from ${db(name)} where app_id = ${appId}`
      await db`delete from apps where id = ${appId}`
    }
  } finally {
    await db.end()
    await database.drop()
  }
})

test('an import that was cut off resumes only with the same file', async () => {
  const database = await cloneDatabase()
  const { appId, databaseUrl } = world()
  try {
    const cut = await parleyOn(database.url, 'app:import', folder.path('cut'))
    expect(cut).toEqual({ code: 1, output: expect.stringMatching(/^the file is cut off after/) })
    const other = await createWorld({ databaseUrl: database.url })
    const { db, operator } = other
    expect((await operator.apps.list()).apps.map(({ id }) => id)).not.toContain(appId)
    expect(await refusal(other.api({ token: ana.token }).channels.list({}))).toMatchObject({
      code: 'INVALID_TOKEN',
    })
    // Members come after their channels, which the cleanup must not take for abandoned.
    await db`
      update channels
      set last_activity_at = '2020-01-01', updated_at = '2020-01-01', member_count = 0
      where app_id = ${appId}`
    const channels = () => db`
      select id, xmin::text
      from channels
      where app_id = ${appId}`
    const stored = await channels()
    expect(stored.length).toBeGreaterThan(1)
    await cleanupElsewhere(other, { purgeEmptyAfterDays: 1 }).pass()
    expect(await channels()).toEqual(stored)

    await parleyOn(databaseUrl, 'app:export', appId, folder.path('second'))
    const foreign = await parleyOn(database.url, 'app:import', folder.path('second'))
    expect(foreign.output).toContain('an import of another file of the app')
    const altered = folder.copy('all', 'altered', changed('users', '"id": "ben"', { name: 'Eve' }))
    const { output } = await parleyOn(database.url, 'app:import', altered)
    expect(output).toContain('this is not the file that the import began with')
    const resumed = await parleyOn(database.url, 'app:import', folder.path('all'))
    expect(resumed.code, resumed.output).toBe(0)
    expect(await channels()).toEqual(stored)
    // This database has the epoch of the file: its numbers may have been given since.
    expect(resumed.output).toContain('New event epoch: all clients load everything again')
    expect(resumed.output).toContain('the push provider gets no devices: they get pushes once')
    const { messages } = await other.api({ token: ben.token }).messages.list({ channelId })
    expect(messages.map(({ text }) => text)).toContain('So far, @ben')
    // The earlier pass found no rows of the deleted user, and did not end their erasure.
    await cleanupElsewhere(other).pass()
    const texts = await db`select text from messages where app_id = ${appId}`
    expect(texts.map(({ text }) => text)).not.toContain('Words of a user who is deleted')
    await other.stop()
  } finally {
    await database.drop()
  }
})

test('an import left unfinished for a week is purged, without calls to the provider', async () => {
  const database = await cloneDatabase()
  const { appId } = world()
  await parleyOn(database.url, 'app:import', folder.path('cut'))
  const other = await createWorld({ databaseUrl: database.url })
  try {
    const { db } = other
    const cleanup = cleanupElsewhere(other, { hasPush: true })
    await db`update app_imports set updated_at = now() - interval '6 days'`
    await cleanup.pass()
    expect(await db`select from apps where id = ${appId}`).toHaveLength(1)
    await db`update app_imports set updated_at = now() - interval '8 days'`
    await cleanup.pass()
    expect(await db`select from apps where id = ${appId}`).toHaveLength(0)
    expect(await db`select from staged_jobs`).toHaveLength(0)
  } finally {
    await other.stop()
    await database.drop()
  }
})
