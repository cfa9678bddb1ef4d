import { createHash } from 'node:crypto'
import { z } from 'zod'
import { parseJson } from '../../core/json-text.ts'

/**
 * A file of an app, as lines of JSON: a header, the rows of one table after the other, and an end.
 * The rows come in batches. After each there is a line with its number of rows and the checksum of
 * everything up to there, so a batch is only stored when it is whole.
 */
export const FORMAT = 1

/** How much of a file is stored at once: the row that reaches one of these ends its batch. */
export const BATCH = { rows: 1_000, characters: 4_000_000 }

const header = z.object({
  parley: z.object({
    format: z.int(),
    /** Which version wrote it. */
    version: z.string(),
    /** The last migration of the database. */
    schema: z.string(),
    /** A new id for each export. */
    exportId: z.uuid(),
    exportedAt: z.string(),
    appId: z.uuid(),
    /** The epoch of the events in the database that the file comes from. */
    epoch: z.string(),
    hasSecrets: z.boolean(),
  }),
})
export type AppFileHeader = z.infer<typeof header>['parley']

const counts = z.record(z.string(), z.int())
export type Counts = z.infer<typeof counts>
const batchLine = z.object({
  batch: z.object({ table: z.string(), rows: z.int(), sha256: z.string() }),
})
const endLine = z.object({ end: z.object({ rows: counts, leftOut: counts }) })

/** A row is its text as the database writes it: it is compared with what is stored. */
export const rowLine = (row: string) => `{"row":${row}}`
const ROW = /^\{"row":(.*)\}$/s

export type AppFileLine =
  | { kind: 'header'; header: AppFileHeader }
  | { kind: 'row'; row: string }
  | ({ kind: 'batch' } & z.infer<typeof batchLine>['batch'])
  | ({ kind: 'end' } & z.infer<typeof endLine>['end'])

/** Parses a line; undefined if such a file has no lines like it. */
export function parseAppFileLine(line: string): AppFileLine | undefined {
  const row = ROW.exec(line)?.[1]
  if (row !== undefined) return { kind: 'row', row }
  const value = parseJson(line)
  const first = header.safeParse(value)
  if (first.success) return { kind: 'header', header: first.data.parley }
  const batch = batchLine.safeParse(value)
  if (batch.success) return { kind: 'batch', ...batch.data.batch }
  const end = endLine.safeParse(value)
  return end.success ? { kind: 'end', ...end.data.end } : undefined
}

/** The checksum of the lines so far, and of those that follow. */
export function checksum(before: string, lines: string[]) {
  const hash = createHash('sha256').update(before)
  for (const line of lines) hash.update(line).update('\n')
  return hash.digest('hex')
}
