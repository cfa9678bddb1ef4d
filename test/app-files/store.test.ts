import { randomUUID } from 'node:crypto'
import { FORMAT } from '@parley/server/commands/app-file/format'
import { noteBatch, noteFirstBatch, showApp } from '@parley/server/commands/app-file/store'
import type { Tx } from '@parley/server/db/client'
import { transaction } from '@parley/server/db/transaction'
import { expect, onTestFinished, test } from 'vitest'
import { channel, channelIdOf, importInto, user } from '../imports/records.ts'
import { useSharedWorld } from '../support/world.ts'
import { parleyOn, useFolder } from './command.ts'

const world = useSharedWorld()
const folder = useFolder()

const inTransaction = <T>(work: (db: Tx) => Promise<T>) =>
  world().pool.use((connection) => transaction(connection, work))

/** The notes of an import whose first batch is stored. */
async function begin() {
  const { operator, db } = world()
  const { id: appId } = await operator.apps.create({ name: 'Moved here' })
  onTestFinished(() => operator.apps.delete({ appId }).then(() => {}))
  onTestFinished(() => db`delete from app_imports where app_id = ${appId}`.then(() => {}))
  const header = {
    ...{ format: FORMAT, version: '1.0.0', schema: '', epoch: 'of another database' },
    ...{ appId, exportId: randomUUID(), exportedAt: '', hasSecrets: false },
  }
  const first = { batches: 1, checksum: 'first' }
  await inTransaction((db) => noteFirstBatch(db, header, first))
  return { header, first }
}

test('only the first of two imports of one file stores a batch', async () => {
  const { header } = await begin()
  const second = { batches: 2, checksum: 'second' }
  const note = () => inTransaction((db) => noteBatch(db, header, second))
  expect((await Promise.all([note(), note()])).sort()).toEqual([false, true])
  const other = { ...header, exportId: randomUUID() }
  const third = { batches: 3, checksum: 'third' }
  expect(await inTransaction((db) => noteBatch(db, other, third))).toBe(false)
})

test('an app is shown by the import that stored its last batch, and by no other', async () => {
  const { header, first } = await begin()
  const show = (given: Partial<typeof first>) =>
    inTransaction((db) => showApp(db, header, { ...first, ...given }))
  await expect(show({ batches: 2 })).rejects.toThrow('another import of this app is running')
  await expect(show({ checksum: 'other' })).rejects.toThrow('another import of this app')
  expect(await show({})).toEqual({ isDisabled: false, hasNewEpoch: false })
})

test('an import is given up by the id of its app in capitals, too', async () => {
  const { header, first } = await begin()
  const { db, databaseUrl } = world()
  const { appId } = header
  await db`update apps set deleted_at = 'infinity' where id = ${appId}`
  const given = await parleyOn(databaseUrl, 'app:discard', appId.toUpperCase())
  expect(given).toEqual({ code: 0, output: 'Given up: the next cleanups delete what it brought' })
  await expect(inTransaction((db) => showApp(db, header, first))).rejects.toThrow('given up')
  await db`update apps set deleted_at = null where id = ${appId}`
})

test('an app is exported after an import that ended before clients were refreshed', async () => {
  const { appId, db, databaseUrl } = world()
  const names = ['shown', 'refused']
  await importInto(world(), [user('ana'), ...names.map((name) => channel(name))])
  const refused = channelIdOf(world(), 'refused')
  // A direct message is left so if its two users had one already: for good, with nothing waiting.
  await db`update channels set deleted_at = 'infinity' where id = ${refused}`
  await db`delete from imported_rows where channel_id = ${refused}`
  for (const name of names)
    await db`
      insert into imported_rows (app_id, record, key, channel_id, line, "row")
      values (${appId}, 'refresh', ${name}, ${channelIdOf(world(), name)}, 0, '{}')`
  const { code, output } = await parleyOn(databaseUrl, 'app:export', appId, folder.path('app'))
  expect(code, output).toBe(0)
})
