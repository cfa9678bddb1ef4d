import { randomUUID } from 'node:crypto'
import { limits } from '@parley/contract'
import type { Tx } from '../../db/client.ts'
import { readMigrations } from '../../db/migration-files.ts'
import { mentionsIn } from '../../features/messages/mentions.ts'
import { type AppFileHeader, BATCH, type Counts, checksum, FORMAT, rowLine } from './format.ts'
import { type AppTable, appTables } from './tables.ts'

/** How many rows the database sends at a time. */
const FETCHED = 200

type WrittenRows = { rows: Counts; leftOut: Counts }
type WriteOptions = { appId: string; hasSecrets: boolean; onBatch?: (rows: number) => void }

/**
 * The lines of an app's file. It reads one snapshot of the database, in the transaction of `db`, as
 * fast as the lines are taken: no more than a batch is in memory.
 */
export async function* appFileLines(
  db: Tx,
  { appId, hasSecrets, onBatch }: WriteOptions,
): AsyncGenerator<string, WrittenRows> {
  const header = JSON.stringify({ parley: await headerOf(db, { appId, hasSecrets }) })
  yield `${header}\n`
  let sum = checksum('', [header])
  let done = 0
  const written: WrittenRows = { rows: {}, leftOut: {} }
  for (const table of appTables) {
    if (table.isSecret && !hasSecrets) {
      written.leftOut[table.name] = await countOf(db, table, appId)
      continue
    }
    written.rows[table.name] = 0
    for await (const rows of batchesOf(db, table, appId)) {
      sum = checksum(sum, rows)
      const batch = { table: table.name, rows: rows.length, sha256: sum }
      yield `${rows.join('\n')}\n${JSON.stringify({ batch })}\n`
      written.rows[table.name] = (written.rows[table.name] ?? 0) + rows.length
      done += rows.length
      onBatch?.(done)
    }
  }
  yield `${JSON.stringify({ end: written })}\n`
  return written
}

async function headerOf(
  db: Tx,
  { appId, hasSecrets }: Omit<WriteOptions, 'onBatch'>,
): Promise<AppFileHeader> {
  const [facts] = await db<{ now: string; epoch: string | null }[]>`
    select
      now() as now,
      (
        select s.value
        from service s
        where s.key = 'epoch'
      ) as epoch`
  return {
    format: FORMAT,
    version: limits.apiVersion,
    schema: readMigrations().at(-1)?.name ?? '',
    exportId: randomUUID(),
    exportedAt: facts?.now ?? '',
    appId,
    epoch: facts?.epoch ?? '',
    hasSecrets,
  }
}

async function countOf(db: Tx, { rows }: AppTable, appId: string) {
  const [row] = await db<{ count: number }[]>`
    select count(*)::int as count
    from ${rows(db, appId)}`
  return row?.count ?? 0
}

/** The rows of a table as lines, in batches. */
async function* batchesOf(db: Tx, table: AppTable, appId: string) {
  const { alias, rows, exported = `to_jsonb(${alias})`, mentioning = 'null', numbered } = table
  const without = numbered === undefined ? '' : ` - '${numbered}'`
  const found = db<{ row: string; text: string | null }[]>`
    select
      ((${db.unsafe(exported)})${db.unsafe(without)})::text as row,
      (${db.unsafe(mentioning)})::text as text
    from ${rows(db, appId)}`
  let lines: string[] = []
  let characters = 0
  for await (const part of found.cursor(FETCHED)) {
    for (const { row, text } of part) {
      const line = rowLine(text === null ? row : withMentions(row, text))
      lines.push(line)
      characters += line.length
      if (lines.length < BATCH.rows && characters < BATCH.characters) continue
      yield lines
      lines = []
      characters = 0
    }
  }
  if (lines.length > 0) yield lines
}

/** A row as text, completed by what its text mentions. */
const withMentions = (row: string, text: string) =>
  `${row.slice(0, -1)}, "mentions": ${JSON.stringify(mentionsIn(text))}}`
