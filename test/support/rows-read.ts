import type { World } from './world.ts'

/** How PostgreSQL plans a prepared statement: for any parameters, or for those of each call. */
export type PlanKind = 'generic' | 'custom'

/** The kinds of counts: all rows read, the rows of scanned tables, and the pages. */
type Kind = 'rows' | 'scanned' | 'pages'
export type Cost = Record<Kind, number>

/**
 * The rows and pages of all tables and indexes that PostgreSQL reads while `work` runs, by its own
 * statistics: all rows, the rows of tables that it scans from end to end, and pages. The world must
 * have a pool of one connection, and no other work. The least of three runs counts, or the first
 * that is little enough: connections that worked before report their reads late.
 */
export async function costOf(
  world: World,
  plan: PlanKind,
  { work, isLittle }: { work: () => Promise<unknown>; isLittle?: (cost: Cost) => boolean },
) {
  await onConnection(world, `set plan_cache_mode = force_${plan}_plan`)
  await work()
  return leastOfThree(world, work, isLittle)
}

/** The rows alone. */
export const rowsReadBy = async (world: World, plan: PlanKind, work: () => Promise<unknown>) =>
  (await costOf(world, plan, { work })).rows

/** The pages of tables and indexes that `work` looks at, one after the other. */
export const pagesReadBy = async (world: World, work: () => Promise<unknown>) =>
  (await leastOfThree(world, work)).pages

async function leastOfThree(
  world: World,
  work: () => Promise<unknown>,
  isLittle = (_: Cost) => false,
): Promise<Cost> {
  const costs: Cost[] = []
  const least = (kind: Kind) => Math.min(...costs.map((cost) => cost[kind]))
  const leastOfAll = () => ({
    rows: least('rows'),
    scanned: least('scanned'),
    pages: least('pages'),
  })
  while (costs.length === 0 || (costs.length < 3 && !isLittle(leastOfAll()))) {
    await forgetDeadRows(world)
    const before = await readStatistics(world)
    await work()
    const after = await readStatistics(world)
    const since = (kind: Kind) => after[kind] - before[kind]
    costs.push({ rows: since('rows'), scanned: since('scanned'), pages: since('pages') })
  }
  return leastOfAll()
}

/** Forgets the plans that were made while tables were empty, as PostgreSQL does after ANALYZE. */
export const discardPlans = (world: World) => onConnection(world, 'discard plans')

/**
 * Lets the connection pass over the rows that earlier work has left dead. While a transaction is
 * open anywhere, also in the database of another test, a connection counts them again each time.
 * VACUUM finds out which transactions matter to this database; it may be of any table.
 */
const forgetDeadRows = (world: World) => onConnection(world, 'vacuum service')

async function readStatistics(world: World) {
  await onConnection(world, 'select pg_stat_force_next_flush()')
  const [row] = await world.db<Cost[]>`
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
