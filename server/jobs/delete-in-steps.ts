import type { Db, DbConnection, Fragment } from '../db/client.ts'
import type { BatchSize } from './batch-size.ts'

/**
 * Rows are deleted in steps, each of which continues where the last one ended. Until a vacuum,
 * deleted rows stay in the index while any transaction may see them, so a step that started from
 * the beginning would look at all of them again.
 */
export type RetentionContext = {
  db: Pick<Db, 'use'>
  /** Throws when there is no time for another statement. */
  checkpoint: () => void
  /** Runs a part that no other part depends on. Returns false if it failed, which was reported. */
  attempt: (work: () => Promise<void>) => Promise<boolean>
  batch: BatchSize
}

export type StepContext = Pick<RetentionContext, 'db' | 'checkpoint' | 'batch'>

export async function repeatUntilNone(
  { db, checkpoint, batch }: StepContext,
  remove: (db: DbConnection, limit: number) => PromiseLike<{ count: number }>,
) {
  const step = () => {
    checkpoint()
    return batch.run((limit) =>
      db.use(async (connection) => (await remove(connection, limit)).count),
    )
  }
  while ((await step()) > 0);
}

/** How many rows a step found and deleted, and the time of the last one. */
type Expired = { count: number; until: string | null }
type ExpiryRule = {
  table: string
  /** Selects the `ctid` of the next rows to delete, and by which time, `at`, they are ordered. */
  select: (db: DbConnection, step: { from: string; limit: number }) => Fragment
}

/** Deletes rows in the order of a time column. */
export function expireInOrder(context: RetentionContext, { table, select }: ExpiryRule) {
  let from = '-infinity'
  return repeatUntilNone(context, async (db, limit) => {
    const [expired] = await db<Expired[]>`
      with expired as materialized (${select(db, { from, limit })}),
      deleted as (
        delete from ${db(table)}
        where ctid = any(array(select ctid from expired))
      )
      select count(*)::int as count, max(at)::text as until
      from expired`
    from = expired?.until ?? from
    return { count: expired?.count ?? 0 }
  })
}

/** Rows of a channel, an app, a message or a topic. */
export type Owned = {
  table: string
  /** The columns of the index after the owner. Without them each step starts from the beginning. */
  order?: string[]
  skipsLocked?: boolean
  /** Rows of this type are kept. */
  keptType?: string
}
/** The reactions to one message. */
export const reactionsOfOne: Owned = {
  table: 'reactions',
  order: ['emoji', 'user_id'],
  skipsLocked: true,
}
type Owner = { column: 'channel_id' | 'app_id' | 'message_id' | 'topic'; id: string }
type Position = (string | number)[]
type DeletedSlice = { count: number; last: Position }

/**
 * Deletes all of these rows, by the `ctid` by which a step has found them. Joined by keys
 * instead, a table that was small when the statement was prepared would be read whole by each step.
 */
export function deleteOwned(context: StepContext, rows: Owned, owner: Owner) {
  let after: Position = []
  return repeatUntilNone(context, async (db, limit) => {
    const [deleted] = await deleteSome(db, rows, { ...owner, after, limit })
    after = deleted?.last ?? after
    return { count: deleted?.count ?? 0 }
  })
}

type OwnedSlice = Owner & { after: Position; limit: number }

function deleteSome(
  db: DbConnection,
  { table, order = [], skipsLocked = false, keptType }: Owned,
  { column, id, after, limit }: OwnedSlice,
) {
  const position = db.unsafe(order.join(', '))
  const [first = '', ...rest] = after
  const values = rest.reduce((some, value) => db`${some}, ${value}`, db`${first}`)
  const lastFirst = db.unsafe(order.map((name) => `${name} desc`).join(', '))
  const isOrdered = order.length > 0
  return db<DeletedSlice[]>`
    with found as materialized (
      select ctid ${isOrdered ? db`, ${position}` : db``}
      from ${db(table)}
      where ${db(column)} = ${id}
        ${keptType === undefined ? db`` : db`and type <> ${keptType}`}
        ${after.length > 0 ? db`and (${position}) > (${values})` : db``}
      ${isOrdered ? db`order by ${position}` : db``}
      limit ${limit}
      ${skipsLocked ? db`for update skip locked` : db``}
    ),
    deleted as (
      delete from ${db(table)}
      where ctid = any(array(select ctid from found))
    )
    select (select count(*)::int from found) as count, jsonb_build_array(${position}) as last
    from found
    ${isOrdered ? db`order by ${lastFirst}` : db``}
    limit 1`
}
