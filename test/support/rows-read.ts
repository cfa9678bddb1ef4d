import type { World } from './world.ts'

/** How PostgreSQL plans a prepared statement: for any parameters, or for those of each call. */
export type PlanKind = 'generic' | 'custom'

/**
 * The rows that PostgreSQL looks at in all tables and indexes while `work` runs, by its own
 * statistics. The world must have a pool of one connection, and no other work. The least of three
 * runs counts: connections that worked before report theirs late.
 */
export async function rowsReadBy(world: World, plan: PlanKind, work: () => Promise<unknown>) {
  await onConnection(world, `set plan_cache_mode = force_${plan}_plan`)
  await work()
  return leastOfThree(world, 'rows', work)
}

/** The rows that `work` reads by walking through tables from end to end. */
export const rowsScannedBy = (world: World, work: () => Promise<unknown>) =>
  leastOfThree(world, 'scanned', work)

/** The pages of tables and indexes that `work` looks at, one after the other. */
export const pagesReadBy = (world: World, work: () => Promise<unknown>) =>
  leastOfThree(world, 'pages', work)

type Kind = 'rows' | 'scanned' | 'pages'

async function leastOfThree(world: World, kind: Kind, work: () => Promise<unknown>) {
  const counts: number[] = []
  for (let run = 0; run < 3; run++) {
    await forgetDeadRows(world)
    const before = await readStatistics(world)
    await work()
    counts.push((await readStatistics(world))[kind] - before[kind])
  }
  return Math.min(...counts)
}

/** Forgets the plans that were made while tables were empty, as PostgreSQL does after ANALYZE. */
export const planAnew = (world: World) => onConnection(world, 'discard plans')

/**
 * Lets the connection pass over the rows that earlier work has left dead. While a transaction is
 * open anywhere, also in the database of another test, a connection counts them again each time.
 * VACUUM finds out which transactions matter to this database; it may be of any table.
 */
const forgetDeadRows = (world: World) => onConnection(world, 'vacuum service')

async function readStatistics(world: World) {
  await onConnection(world, 'select pg_stat_force_next_flush()')
  const [row] = await world.db<Record<Kind, number>[]>`
    select
      (tables.rows + indexes.rows)::float8 as rows,
      tables.rows::float8 as scanned,
      pages.read::float8 as pages
    from (select sum(seq_tup_read) as rows from pg_stat_user_tables) tables,
      (select sum(idx_tup_read) as rows from pg_stat_user_indexes) indexes,
      (
        select sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read) as read
        from pg_statio_user_tables
      ) pages`
  return row ?? { rows: 0, scanned: 0, pages: 0 }
}

const onConnection = ({ pool }: World, statement: string) =>
  pool.use((connection) => connection.unsafe(statement))
