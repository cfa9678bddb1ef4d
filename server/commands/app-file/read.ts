import { noteCommand } from '../../core/audit.ts'
import type { Tx } from '../../db/client.ts'
import { readMigrations } from '../../db/migration-files.ts'
import {
  type AppFileHeader,
  type AppFileLine,
  BATCH,
  type Counts,
  checksum,
  FORMAT,
  parseAppFileLine,
} from './format.ts'
import {
  INTERFERED,
  noteBatch,
  noteFirstBatch,
  type Progress,
  renewEpochFor,
  selectProgress,
  showApp,
  stageDevices,
  storeRows,
} from './store.ts'
import { appTables } from './tables.ts'

/** Longer than any row: what is longer is no such file. */
const LINE_BYTES = 2 ** 25
const NEWLINE = 0x0a

type AppFileOptions = {
  body: AsyncIterable<Uint8Array>
  /** Runs a short transaction. */
  inTransaction: <T>(work: (db: Tx) => Promise<T>) => Promise<T>
  /** Whether the service has a push provider. */
  hasPush: boolean
  onBatch?: (rows: number) => void
}

/**
 * Imports the file of an app, a batch in each transaction. Until the end nobody sees the app. What
 * is stored already when it begins again with the same file is passed over.
 */
export async function readAppFile({ body, inTransaction, hasPush, onBatch }: AppFileOptions) {
  let number = 0
  let reading: ReadState | undefined
  let end: End | undefined
  for await (const text of linesOf(body)) {
    number += 1
    const line = parseAppFileLine(text)
    if (!reading) reading = await begin(line, { text, inTransaction })
    else if (end) throw new Error(`line ${number}: data after the end line`)
    else if (line?.kind === 'row') addRow(reading, { text, row: line.row, number })
    else if (line?.kind === 'batch') {
      await endBatch(reading, line, { number, inTransaction })
      onBatch?.(reading.rows)
    } else if (line?.kind === 'end' && reading.batch.length === 0) end = line
    else throw new Error(`line ${number}: not a line of an app export: the file is damaged`)
  }
  if (!reading) throw new Error('the file is empty, or cut off in its first line')
  if (end) return finish(reading, end, { inTransaction, hasPush })
  throw new Error(
    `the file is cut off after line ${number}. Nobody sees the app yet; ` +
      'run the command again with the whole file, and it goes on there',
  )
}

type End = AppFileLine & { kind: 'end' }

/** Shows the app, if all of it is there. */
async function finish(
  reading: ReadState,
  { rows, leftOut }: End,
  { inTransaction, hasPush }: Pick<AppFileOptions, 'inTransaction' | 'hasPush'>,
) {
  const { header, counts } = reading
  requireCounts(rows, counts)
  const shown = await inTransaction(async (db) => {
    const shown = await showApp(db, header, reading)
    await noteCommand(db, { operation: 'apps.import', appId: header.appId, target: {} })
    if (hasPush) await stageDevices(db, header.appId)
    return shown
  })
  const hasNewEpoch = shown.hasNewEpoch || reading.hasNewEpoch
  return { ...shown, hasNewEpoch, appId: header.appId, rows, leftOut }
}

/** The state of a reading. */
type ReadState = {
  header: AppFileHeader
  /** Where an earlier run has come. */
  progress: Progress | undefined
  checksum: string
  batches: number
  counts: Counts
  rows: number
  batch: { text: string; row: string }[]
  /** The characters of the batch. */
  characters: number
  hasNewEpoch: boolean
}

async function begin(
  line: AppFileLine | undefined,
  { text, inTransaction }: Pick<AppFileOptions, 'inTransaction'> & { text: string },
): Promise<ReadState> {
  const header = requireHeader(line)
  const found = await inTransaction((db) => selectProgress(db, header.appId))
  return {
    header,
    progress: requireProgress(header, found),
    checksum: checksum('', [text]),
    batches: 0,
    counts: {},
    rows: 0,
    batch: [],
    characters: 0,
    hasNewEpoch: false,
  }
}

type NumberedRow = ReadState['batch'][number] & { number: number }

function addRow(reading: ReadState, { text, row, number }: NumberedRow) {
  const { batch, characters } = reading
  if (batch.length >= BATCH.rows || characters >= BATCH.characters)
    throw new Error(`line ${number}: the batch is larger than an export writes`)
  batch.push({ text, row })
  reading.characters += text.length
}

async function endBatch(
  reading: ReadState,
  { table, rows, sha256 }: AppFileLine & { kind: 'batch' },
  { number, inTransaction }: Pick<AppFileOptions, 'inTransaction'> & { number: number },
) {
  const { header, progress, batch, counts } = reading
  reading.checksum = checksum(
    reading.checksum,
    batch.map(({ text }) => text),
  )
  if (reading.checksum !== sha256 || batch.length !== rows)
    throw new Error(
      `line ${number}: the checksum of the lines before does not match. The file is damaged`,
    )
  reading.batches += 1
  const { batches } = reading
  if (progress && batches === progress.batches && sha256 !== progress.checksum)
    throw new Error(`line ${number}: this is not the file that the import began with`)
  if (batches > (progress?.batches ?? 0)) {
    const stored = { header, table, rows: batch.map(({ row }) => row), batches, checksum: sha256 }
    const isRenewed = await inTransaction((db) => storeBatch(db, stored))
    reading.hasNewEpoch ||= isRenewed
  }
  counts[table] = (counts[table] ?? 0) + rows
  reading.rows += rows
  reading.batch = []
  reading.characters = 0
}

function requireHeader(line: AppFileLine | undefined) {
  if (line?.kind !== 'header') throw new Error('line 1: this is no file of parley app:export')
  const { header } = line
  if (header.format !== FORMAT)
    throw new Error(
      `the file has format ${header.format}, of Parley ${header.version}; expected ${FORMAT}`,
    )
  const schema = readMigrations().at(-1)?.name ?? ''
  if (header.schema !== schema)
    throw new Error(
      `the file has the schema ${header.schema}, and this version of Parley has ${schema}. ` +
        `Import it with Parley ${header.version}, which wrote it, and upgrade then`,
    )
  return header
}

function requireProgress(
  { appId, exportId }: AppFileHeader,
  progress: Progress | null | undefined,
) {
  if (progress === null)
    throw new Error(
      `the app ${appId} exists in this database already. To import it again, delete it there, ` +
        'and wait until the audit log has its apps.purged',
    )
  if (progress && progress.exportId !== exportId)
    throw new Error(
      `an import of another file of the app ${appId} is not finished. ` +
        `Finish it, or give it up: parley app:discard ${appId}`,
    )
  return progress
}

type RowBatch = Omit<Progress, 'exportId'> & {
  header: AppFileHeader
  table: string
  rows: string[]
}

/** Returns whether the events have a new epoch. */
async function storeBatch(db: Tx, { header, table: name, rows, ...progress }: RowBatch) {
  const table = appTables.find((table) => table.name === name)
  if (!table) throw new Error(`the file has rows of ${name}, which is no table of an app`)
  const { appId } = header
  const isFirst = progress.batches === 1
  const isRenewed = isFirst && (await renewEpochFor(db, appId))
  if (!isFirst && !(await noteBatch(db, header, progress))) throw new Error(INTERFERED)
  const stored = await storeRows(db, table, { appId, rows })
  if (stored !== rows.length) throw new Error(`${name}: ${stored} of ${rows.length} rows stored`)
  if (isFirst) await noteFirstBatch(db, header, progress)
  return isRenewed
}

function requireCounts(expected: Counts, counts: Counts) {
  for (const [table, rows] of Object.entries(expected)) {
    const found = counts[table] ?? 0
    if (found !== rows) throw new Error(`${table}: expected ${rows} rows, found ${found}`)
  }
}

/** The lines that end; one chunk and one line are in memory. */
async function* linesOf(body: AsyncIterable<Uint8Array>) {
  let parts: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      yield Buffer.concat([...parts, chunk.subarray(from, at)]).toString()
      parts = []
      bytes = 0
      from = at + 1
    }
    parts.push(chunk.subarray(from))
    bytes += chunk.length - from
    if (bytes > LINE_BYTES) throw new Error('a line is too long for a file of parley app:export')
  }
}
