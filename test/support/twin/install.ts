import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectOnce } from '@parley/server/db/client'
import { commonIds } from './index.ts'

/** A row of the prototype namesake: the table, and the row as JSON. */
type PrototypeRow = [table: string, row: object]

/** Makes the twin in a migrated database. */
export async function installTwin(url: string) {
  const db = connectOnce(url)
  const prototype: PrototypeRow[] = JSON.parse(read('prototype.json'))
  await db.unsafe(read('install.sql'))
  await db`call twin.define()`
  await db`
    insert into twin.prototype (table_name, row)
    select *
    from unnest(
      ${prototype.map(([table]) => table)}::text[],
      ${prototype.map(([, row]) => recent(JSON.stringify(row)))}::text[]
    )`
  await db`
    insert into twin.rows
    select 'apps', a::text from apps a
    union all
    select 'api_keys', ak::text from api_keys ak
    union all
    select 'nodes', n::text from nodes n`
  await db`select twin.add_namesakes(${commonIds})`
  await db.end()
}

/** Longer than any gap of the tests: after one, a node sends its users the edits of that time. */
const AGE_MS = 5 * 60_000

/** Rows of the last minutes: what is old is cleaned up, and what is new may not have been sent. */
const recent = (row: string) =>
  row
    .replaceAll('@now', new Date(Date.now() - AGE_MS).toISOString())
    .replaceAll('@later', new Date(Date.now() + 7 * 24 * 3_600_000).toISOString())

const read = (name: string) => readFileSync(join(import.meta.dirname, name), 'utf8')
