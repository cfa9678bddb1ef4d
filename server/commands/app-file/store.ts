import { randomBytes } from 'node:crypto'
import type { Tx } from '../../db/client.ts'
import type { AppFileHeader } from './format.ts'
import type { AppTable } from './tables.ts'

/** Where an import that is not finished has come. */
export type Progress = { exportId: string; batches: number; checksum: string }

/** Of the app that is being imported; null: it exists, and nothing is to be imported. */
export async function selectProgress(db: Tx, appId: string): Promise<Progress | null | undefined> {
  const [app] = await db<{ exportId: string | null; batches: number | null; sum: string | null }[]>`
    select ai.export_id, ai.batches, ai.checksum as sum
    from apps a
    left join app_imports ai on ai.app_id = a.id
    where a.id = ${appId}
    limit 1`
  if (!app) return undefined
  const { exportId, batches, sum } = app
  return exportId === null || batches === null ? null : { exportId, batches, checksum: sum ?? '' }
}

/** Notes that a batch is stored, in the same transaction. False: another import has come first. */
export async function noteBatch(
  db: Tx,
  { appId, exportId }: Pick<AppFileHeader, 'appId' | 'exportId'>,
  { batches, checksum }: Omit<Progress, 'exportId'>,
) {
  const noted = await db`
    insert into app_imports as ai (app_id, export_id, batches, checksum)
    values (${appId}, ${exportId}, ${batches}, ${checksum})
    on conflict (app_id) do update
    set batches = excluded.batches, checksum = excluded.checksum, updated_at = now()
    where ai.export_id = excluded.export_id
      and ai.batches = excluded.batches - 1`
  return noted.count === 1
}

type Stored = { stored: number; isSame: boolean }

/**
 * Inserts rows, and compares what the database made of them with what they were. Returns how many
 * there are.
 */
export async function storeRows(db: Tx, table: AppTable, rows: string[]) {
  const { name, alias, hidden = {}, numbered, stored = `to_jsonb(${alias})` } = table
  const columns = await columnsOf(db, name)
  const written = columns.filter((column) => column !== numbered)
  const values = written.map((column) => hidden[column] ?? `r."${column}"`)
  const without = numbered === undefined ? '' : ` - '${numbered}'`
  const [result] = await db<Stored[]>`
    with given as materialized (
      select line::jsonb as row
      from unnest(${rows}::text[]) as given (line)
    ),
    stored as (
      insert into ${db(name)} as ${db(alias)} (${db(written)})
      select ${db.unsafe(values.join(', '))}
      from given
      cross join lateral jsonb_populate_record(null::${db(name)}, given.row) r
      returning (${db.unsafe(stored)})${db.unsafe(without)} as row
    )
    select
      (
        select count(*)
        from stored
      )::int as stored,
      (
        select sum(hashtextextended(given.row::text, 0))
        from given
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same`
  if (!result?.isSame)
    throw new Error(`${name}: this database stores rows other than those of the file`)
  return result.stored
}

/** The columns that rows are inserted with. */
async function columnsOf(db: Tx, table: string) {
  const columns = await db<{ name: string }[]>`
    select attname as name
    from pg_attribute
    where attrelid = to_regclass(${table})
      and attnum > 0
      and not attisdropped
      and attgenerated = ''
    order by attnum`
  return columns.map(({ name }) => name)
}

/**
 * Shows the app. If the file comes from this very service, its numbers of events were given to
 * others since: then all clients have to load everything again.
 */
export async function showApp(db: Tx, { appId, epoch }: AppFileHeader) {
  await db`
    update users
    set forgotten_at = null
    where app_id = ${appId}
      and forgotten_at = 'infinity'`
  const [again] = await db<{ value: string }[]>`
    update service
    set value = ${randomBytes(8).toString('hex')}
    where key = 'epoch'
      and value = ${epoch}
    returning value`
  await db`
    delete from app_imports
    where app_id = ${appId}`
  const [app] = await db<{ isDisabled: boolean }[]>`
    update apps
    set deleted_at = null
    where id = ${appId}
    returning disabled_at is not null as is_disabled`
  return { isDisabled: app?.isDisabled ?? false, hasNewEpoch: again !== undefined }
}

/** Gives an unfinished import up: the cleanup deletes what it brought. False: there is none. */
export async function discardApp(db: Tx, appId: string) {
  const { count } = await db`
    with discarded as (
      delete from app_imports
      where app_id = ${appId}
      returning app_id
    )
    update apps a
    set deleted_at = now()
    from discarded
    where a.id = discarded.app_id
      and a.deleted_at = 'infinity'`
  return count > 0
}
