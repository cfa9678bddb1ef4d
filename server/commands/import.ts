import { grouped } from '@parley/contract'
import { readConfig } from '../config/index.ts'
import { noteCommand } from '../core/audit.ts'
import { createMetrics } from '../core/metrics.ts'
import { createDb, type Db, patience } from '../db/client.ts'
import { transaction } from '../db/transaction.ts'
import { runImport } from '../features/imports/run.ts'
import { bytesOf } from './bytes-of.ts'
import { prepareSchema, withDatabase } from './open.ts'
import { createProgress } from './progress.ts'

/** A command may wait longer than a call: nobody waits for its steps. */
const PATIENCE_MS = 60_000

type ImportCommand = { file: string; appId: string }

/** `parley import`: reads a file into an app, and prints the report as JSON. */
export async function importFile({ file, appId }: ImportCommand) {
  const config = readConfig()
  await withDatabase(config, async (url) => {
    await prepareSchema(url, config)
    const db = createDb({
      url,
      poolSize: 1,
      applicationName: 'parley-import',
      patience: { ...patience, callMs: PATIENCE_MS, statementMs: PATIENCE_MS },
    })
    try {
      await requireApp(db, appId)
      const say = createProgress('lines')
      const report = await runImport({
        appId,
        body: file === '-' ? process.stdin : bytesOf(file),
        // The program that writes to the pipe may work for long before a line.
        stalledMs: Number.POSITIVE_INFINITY,
        inTransaction: (work) => db.use((connection) => transaction(connection, work)),
        note: noteCommand,
        metrics: createMetrics(),
        onProgress: ({ lines, refused }) => say(lines, `, ${grouped(refused)} refused`),
      })
      console.log(JSON.stringify(report, null, 2))
      if (!report.isFinished)
        throw new Error('Nothing is shown yet: the file is empty, or its last line is cut off')
      const known = [report.imported, report.skipped].flatMap((counts) => Object.values(counts))
      if (known.every((count) => count === 0))
        throw new Error('Nothing was imported: see the refusals')
    } finally {
      // After a failure a read may still wait for the pipe, which would keep the process.
      if (file === '-') process.stdin.destroy()
      await db.end({ timeout: 1 })
    }
  })
}

async function requireApp(db: Db, appId: string) {
  const [app] = await db.use(
    (db) => db`
      select
      from apps
      where id::text = ${appId}
      limit 1`,
  )
  if (!app) throw new Error('--app: there is no app with this id')
}
