import { randomBytes } from 'node:crypto'
import type { Tx } from '../../db/client.ts'
import type { AppFileHeader } from './format.ts'
import type { AppTable } from './tables.ts'

export const INTERFERED = 'another import of this app is running, or it was given up or has ended'

/** Where an import that is not finished has come. */
export type Progress = { exportId: string } & Batches
type Batches = { batches: number; checksum: string }
type Import = Pick<AppFileHeader, 'appId' | 'exportId'>

/** The progress of the import of an app; null: the app exists, so nothing is to be imported. */
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

/** Notes the first batch, in the transaction that stores it. */
export const noteFirstBatch = (db: Tx, { appId, exportId }: Import, { checksum }: Batches) => db`
  insert into app_imports (app_id, export_id, batches, checksum)
  values (${appId}, ${exportId}, 1, ${checksum})`

/**
 * Notes another batch, before it is stored in the same transaction. False: another import of the
 * app has come first, or this one was given up.
 */
export async function noteBatch(
  db: Tx,
  { appId, exportId }: Import,
  { batches, checksum }: Batches,
) {
  const noted = await db`
    update app_imports
    set batches = ${batches}, checksum = ${checksum}, updated_at = now()
    where app_id = ${appId}
      and export_id = ${exportId}
      and batches = ${batches - 1}`
  return noted.count === 1
}

/**
 * If the app was here before and was deleted, its new events get offsets that clients may already
 * have seen. Then starts a new epoch, so that all clients load everything again. Returns whether.
 */
export async function renewEpochFor(db: Tx, appId: string) {
  const { count } = await db`
    update service
    set value = ${newEpoch()}
    where key = 'epoch'
      and exists (
        select
        from audit aud
        where aud.app_id = ${appId}
          and aud.operation = 'apps.delete'
      )`
  return count > 0
}

const newEpoch = () => randomBytes(8).toString('hex')

type StoredBatch = { stored: number; isSame: boolean }
type Rows = { appId: string; rows: string[] }

/**
 * Inserts rows of an app, and compares what the database made of them with what they were. Rows
 * that outlived the app are not inserted again. Returns how many there are.
 */
export async function storeRows(db: Tx, table: AppTable, { appId, rows }: Rows) {
  await requireOwn(db, table, { appId, rows })
  const { name, alias, hidden = {}, numbered, stored = `to_jsonb(${alias})` } = table
  const columns = await columnsOf(db, name)
  const written = columns.filter((column) => column !== numbered)
  const values = written.map((column) => hidden[column] ?? `own."${column}"`)
  const without = numbered === undefined ? '' : ` - '${numbered}'`
  const [result] = await db<StoredBatch[]>`
    with given as materialized (
      select line::jsonb as row
      from unnest(${rows}::text[]) as given (line)
    ),
    kept as materialized (${keptRows(db, table, appId)}),
    fresh as materialized (
      select given.row
      from given
      where not exists (
        select
        from kept
        where kept.row = given.row
      )
    ),
    stored as (
      insert into ${db(name)} as ${db(alias)} (${db(written)})
      select ${db.unsafe(values.join(', '))}
      from fresh
      cross join lateral jsonb_populate_record(null::${db(name)}, fresh.row) own
      returning (${db.unsafe(stored)})${db.unsafe(without)} as row
    )
    select
      (
        select count(*)
        from stored
      )::int + (
        select count(*)
        from given
      )::int - (
        select count(*)
        from fresh
      )::int as stored,
      (
        select sum(hashtextextended(fresh.row::text, 0))
        from fresh
      ) is not distinct from (
        select sum(hashtextextended(stored.row::text, 0))
        from stored
      ) as is_same`
  if (!result?.isSame)
    throw new Error(`${name}: this database stores rows other than those of the file`)
  return result.stored
}

/** The rows of the table that outlived the app here, of the times of the `given` ones. */
function keptRows(db: Tx, { name, alias, keptBy, numbered = '' }: AppTable, appId: string) {
  if (keptBy === undefined)
    return db`
      select null::jsonb as row
      where false`
  return db`
    select to_jsonb(${db(alias)}) - ${numbered}::text as row
    from ${db(name)} ${db(alias)}
    where ${db(`${alias}.app_id`)} = ${appId}
      and ${db(`${alias}.${keptBy}`)} = any(array(
        select (given.row ->> ${keptBy})::timestamptz
        from given
      ))`
}

/** Where columns lead that the database lets lead into another app. */
const references = [
  ['channel_id', 'channels'],
  ['message_id', 'messages'],
  ['parent_id', 'messages'],
  ['quoted_id', 'messages'],
  ['invite_id', 'workspace_invites'],
] as const

/** A file may have been changed: its rows are those of its app, and lead to no other's. */
async function requireOwn(db: Tx, { name, ownedBy = 'app_id' }: AppTable, { appId, rows }: Rows) {
  const others = references.map(
    ([column, table]) => db`
      or (
        select other.app_id
        from ${db(table)} other
        where other.id = (row ->> ${column})::uuid
        limit 1
      ) <> ${appId}`,
  )
  const [foreign] = await db`
    select
    from unnest(${rows}::text[]) as given (line)
    cross join lateral (values (line::jsonb)) as parsed (row)
    where row ->> ${ownedBy} is distinct from ${appId} ${others}
    limit 1`
  if (foreign) throw new Error(`${name}: the file has rows of another app`)
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
export async function showApp(
  db: Tx,
  { appId, exportId, epoch }: AppFileHeader,
  { batches, checksum }: Batches,
) {
  const ended = await db`
    delete from app_imports
    where app_id = ${appId}
      and export_id = ${exportId}
      and batches = ${batches}
      and checksum = ${checksum}`
  if (ended.count !== 1) throw new Error(INTERFERED)
  await db`
    update users
    set forgotten_at = null
    where app_id = ${appId}
      and forgotten_at = 'infinity'`
  const renewed = await db`
    update service
    set value = ${newEpoch()}
    where key = 'epoch'
      and value = ${epoch}`
  const [app] = await db<{ isDisabled: boolean }[]>`
    update apps
    set deleted_at = null
    where id = ${appId}
    returning disabled_at is not null as is_disabled`
  return { isDisabled: app?.isDisabled ?? false, hasNewEpoch: renewed.count > 0 }
}

/** The push provider of this service is sent the devices, and the users who have them. */
export const stageDevices = (db: Tx, appId: string) => db`
  insert into staged_jobs (task, payload)
  select
    'device',
    json_build_object('appId', ${appId}::text, 'userId', own.user_id, 'provider', own.provider)
  from (
    select distinct d.user_id, d.provider
    from devices d
    where d.app_id = ${appId}
  ) own`

/**
 * Gives an unfinished import up: the cleanup deletes what it brought, which never was in use here.
 * False: there is none.
 */
export async function discardApp(db: Tx, appId: string) {
  const { count } = await db`
    with discarded as (
      delete from app_imports
      where app_id::text = lower(${appId})
      returning app_id
    )
    update apps a
    set deleted_at = '-infinity'
    from discarded
    where a.id = discarded.app_id
      and a.deleted_at = 'infinity'`
  return count > 0
}
