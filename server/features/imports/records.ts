import { createHash } from 'node:crypto'
import { formatIssues, type ImportKind, ImportRecord } from '@parley/contract'
import { parseJson } from '../../core/json-text.ts'
import { hasUnsafeKeys, UNSAFE_KEYS } from '../../core/unsafe-keys.ts'
import type { ImportLine } from './lines.ts'

/** A line that holds a record. */
export type ParsedRecord<K extends ImportKind = ImportKind> = {
  line: number
  record: Extract<ImportRecord, { record: K }>
}
export type Refusal = { line: number; reason: string }

/** The record of a line, or why there is none. */
export function parseLine(line: ImportLine): ParsedRecord | Refusal {
  if ('problem' in line) return { line: line.line, reason: line.problem }
  const value = parseJson(line.text)
  if (value === undefined) return { line: line.line, reason: 'expected a JSON object' }
  if (hasUnsafeKeys(line.text, value))
    return { line: line.line, reason: `expected none of ${UNSAFE_KEYS}` }
  const { data, error } = ImportRecord.safeParse(value)
  if (data) return { line: line.line, record: data }
  return { line: line.line, reason: formatIssues(error.issues) }
}

export const isJson = (text: string) => parseJson(text) !== undefined

/** The times of a record, of which none may be in the future. */
export const timesOf = (record: ImportRecord) =>
  ['createdAt', 'joinedAt', 'editedAt'].flatMap((name) => {
    const value = record[name as keyof ImportRecord] // not every kind has each
    return value === undefined ? [] : { name, value }
  })

/**
 * The id of what is imported follows from the id that it had: the UUID, version 5, of
 * `channel:<id>` or `message:<id>` in the namespace of the app. So it is the same in each run.
 */
export const idOf = (appId: string, kind: 'channel' | 'message', id: string) => {
  const hash = createHash('sha1')
    .update(Buffer.from(appId.replaceAll('-', ''), 'hex'))
    .update(`${kind}:${id}`)
    .digest()
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6)
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8)
  return hash.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** The names of the kinds in a report. */
export const plurals = {
  user: 'users',
  channel: 'channels',
  member: 'members',
  message: 'messages',
  reaction: 'reactions',
  pin: 'pins',
  read: 'reads',
} as const satisfies Record<ImportKind, string>
