import { readFileSync } from 'node:fs'
import postgres from 'postgres'

/** What PostgreSQL has done so far: counters to be subtracted. */
export type DatabaseWork = { cpuSeconds: number; walBytes: number; statements: number }

/** The settings with which a server counts its statements. */
export const counting = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track_utility': 'on',
}

/** Looks at the work of a whole PostgreSQL, from a connection of its own. */
export async function watchDatabase(url: string) {
  const host = decodeURIComponent(new URL(url).hostname)
  const sql = postgres(url, { host, max: 1, onnotice: () => {} })
  await sql`create extension if not exists pg_stat_statements`
  const read = async (): Promise<DatabaseWork> => {
    const [row] = await sql<{ wal: number; statements: number; processes: number[] }[]>`
      select
        (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 as wal,
        (
          select coalesce(sum(calls), 0)
          from pg_stat_statements
        )::float8 as statements,
        array(
          select pid
          from pg_stat_activity
          where pid <> pg_backend_pid()
        ) as processes`
    if (!row) throw new Error('no counters were read')
    const ticks = row.processes.map(ticksOf).reduce((sum, each) => sum + each, 0)
    return { cpuSeconds: ticks / 100, walBytes: row.wal, statements: row.statements }
  }
  return { sql, read, end: () => sql.end() }
}

/** The hundredths of a second that a process ran, where the system tells; elsewhere NaN. */
function ticksOf(pid: number) {
  if (process.platform !== 'linux') return Number.NaN
  try {
    const [, ...fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    const [userTicks = 0, systemTicks = 0] = fields.join(') ').split(' ').slice(11, 13).map(Number)
    return userTicks + systemTicks
  } catch {
    return 0 // It has ended since.
  }
}
