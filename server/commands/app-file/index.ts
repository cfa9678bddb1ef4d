import { randomBytes } from 'node:crypto'
import { lstat, open, rename, rm } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { grouped } from '@parley/contract'
import { readConfig } from '../../config/index.ts'
import { noteCommand } from '../../core/audit.ts'
import { type DbConnection, openConnection, type Tx } from '../../db/client.ts'
import { inspect } from '../../db/migrate.ts'
import { singleSocket } from '../../db/single-socket.ts'
import { FILE_CONNECTION } from '../../db/stuck-sessions.ts'
import { transaction } from '../../db/transaction.ts'
import { bytesOf } from '../bytes-of.ts'
import { prepareSchema, whenDatabaseIsReady, withDatabase } from '../open.ts'
import { createProgress } from '../progress.ts'
import type { Counts } from './format.ts'
import { readAppFile } from './read.ts'
import { discardApp } from './store.ts'
import { appFileLines } from './write.ts'

/** A command may wait longer than a call: nobody waits for its steps. */
const STATEMENT_MS = 60_000

type ExportCommand = { appId: string; file: string; hasSecrets: boolean }

/** `parley app:export`: writes everything that an app has to a file. */
export async function exportApp({ appId, file, hasSecrets }: ExportCommand) {
  const config = readConfig()
  await withDatabase(config, async (url) => {
    const { pending } = await whenDatabaseIsReady(() => inspect(url, { hasJobs: false }), config)
    if (pending.length > 0)
      throw new Error(`The schema lacks ${pending.join(', ')}. Run: parley migrate`)
    await withConnection(url, async (db) => {
      await requireExportable(db, appId)
      let written: { rows: Counts; leftOut: Counts } | undefined
      const lines = async function* () {
        written = yield* appFileLines(db, { appId, hasSecrets, onBatch: createProgress('rows') })
      }
      await withOutput(file, async (target) => {
        await noteCommand(db, { operation: 'apps.export', appId, target: { hasSecrets } })
        await transaction(db, async (tx) => {
          // Export one snapshot; the reader may pause for any time.
          await tx`set transaction isolation level repeatable read, read only`
          // The app may have changed since, or been deleted.
          await requireExportable(tx, appId)
          // The statement of a table lasts until its last row is taken.
          await tx`
            select
              set_config('idle_in_transaction_session_timeout', '0', true),
              set_config('statement_timeout', '0', true)`
          await pipeline(Readable.from(lines()), target, { end: file !== '-' })
        })
      })
      console.error(`Rows exported: ${shown(written?.rows)}`)
      sayLeftOut(written?.leftOut, 'Left out: ', '. --with-secrets includes them')
    })
  })
}

/** `parley app:import`: stores the app of a file, which this database must not have yet. */
export async function importApp(file: string) {
  const config = readConfig()
  await withDatabase(config, async (url) => {
    await prepareSchema(url, config)
    await withConnection(url, async (db) => {
      const { appId, rows, leftOut, isDisabled, hasNewEpoch } = await readAppFile({
        body: file === '-' ? process.stdin : bytesOf(file),
        inTransaction: (work) => transaction(db, work),
        hasPush: config.push !== undefined,
        onBatch: createProgress('rows'),
      })
      console.log(`Rows imported: ${shown(rows)}`)
      sayLeftOut(leftOut, 'Not in the file: ', '. Create them here')
      if (rows.devices && !config.push)
        console.log(
          'Without PUSH_SECRET_KEY the push provider gets no devices: ' +
            'they get pushes once their clients register them again',
        )
      if (hasNewEpoch) console.log('New event epoch: all clients load everything again')
      console.log(`The app ${appId} is ${isDisabled ? 'disabled, as it was' : 'open'}`)
    })
  })
}

/** `parley app:discard`: gives up an import that was not finished. */
export async function discardImport(appId: string) {
  const config = readConfig()
  await withDatabase(config, async (url) => {
    await prepareSchema(url, config)
    await withConnection(url, async (db) => {
      await transaction(db, async (tx) => {
        if (!(await discardApp(tx, appId)))
          throw new Error('There is no unfinished import of this app')
        await noteCommand(tx, { operation: 'apps.discard', appId, target: {} })
      })
      console.log('Given up: the next cleanups delete what it brought')
    })
  })
}

async function withConnection(url: string, work: (db: DbConnection) => Promise<void>) {
  const db = openConnection({
    url,
    applicationName: FILE_CONNECTION,
    statementMs: STATEMENT_MS,
    socket: singleSocket(),
    lifetime: null,
  })
  try {
    // A busy machine may pause for longer than a server may: nobody waits for these locks.
    await db`select set_config('idle_in_transaction_session_timeout', ${STATEMENT_MS}::text, false)`
    await work(db)
  } finally {
    await db.end({ timeout: 1 })
  }
}

/**
 * Writes to a new file, for its owner only, or to the standard output. The file has its name once
 * it is whole: what is killed before leaves a part beside it.
 */
async function withOutput(file: string, write: (target: Writable) => Promise<void>) {
  if (file === '-') return write(process.stdout)
  await requireNone(file)
  const part = `${file}.${randomBytes(4).toString('hex')}.part`
  const opened = await open(part, 'wx', 0o600).catch(({ code }: NodeJS.ErrnoException) => {
    throw new Error(`${file}: cannot be written (${code})`)
  })
  try {
    await write(opened.createWriteStream({ flush: true }))
    await requireNone(file)
    await rename(part, file)
  } catch (error) {
    await opened.close()
    await rm(part, { force: true })
    throw error
  }
}

async function requireNone(file: string) {
  const isThere = await lstat(file).then(
    () => true,
    () => false,
  )
  if (isThere) throw new Error(`${file} exists: name another file, or delete it first`)
}

async function requireExportable(db: Tx, appId: string) {
  const [app] = await db<{ isImporting: boolean }[]>`
    select
      exists (
        select
        from imported_rows ir
        join channels c on c.id = ir.channel_id
        where ir.app_id = a.id
          and ir.record <> 'refresh'
          and c.deleted_at = 'infinity'
      ) as is_importing
    from apps a
    where a.id::text = ${appId}
      and a.deleted_at is null
    limit 1`
  if (!app) throw new Error('There is no app with this id')
  if (app.isImporting)
    throw new Error('An import into this app is not finished: its channels would be missing')
}

/** The name of a table comes before its rows, and so is right for one row, too. */
const shown = (rows: Counts = {}) =>
  Object.entries(rows)
    .filter(([, count]) => count > 0)
    .map(([table, count]) => `${table} ${grouped(count)}`)
    .join(', ')

function sayLeftOut(leftOut: Counts | undefined, before: string, after: string) {
  const names = shown(leftOut)
  if (names !== '') console.error(`${before}${names}${after}`)
}
