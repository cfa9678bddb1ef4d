import { readFileSync } from 'node:fs'
import postgres from 'postgres'

/** The work that PostgreSQL has done so far: counters to be subtracted. */
export type DatabaseWork = { cpuSeconds: number; walBytes: number; statements: number }

type Row = { wal: number; statements: number; own: number; processes: number[] }

/** The settings with which a server counts its statements. */
export const counting = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track_utility': 'on',
}

/** Autovacuum evaluates this for each row of a sample, as a statement of its own. */
const IN_INDEXES = '%hashtextextended(substr(lowered%'

/** Looks at the work of a whole PostgreSQL, from a connection of its own. */
export async function watchDatabase(url: string) {
  const host = decodeURIComponent(new URL(url).hostname)
  const sql = postgres(url, { host, max: 1, onnotice: () => {} })
  await sql`create extension if not exists pg_stat_statements`
  const read = async (): Promise<DatabaseWork> => {
    const [row] = await sql<Row[]>`
      select
        (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 as wal,
        (
          select coalesce(sum(calls), 0)
          from pg_stat_statements
          where query not like ${IN_INDEXES}
        )::float8 as statements,
        pg_backend_pid() as own,
        array(
          select pid
          from pg_stat_activity
          where pid <> pg_backend_pid()
        ) as processes`
    if (!row) throw new Error('no counters were read')
    // Processes of connections come and go. The times of those that have gone are in their parent.
    const ended = ticksOf(parentOf(row.own), { withEnded: true })
    const ticks = row.processes.reduce((sum, pid) => sum + ticksOf(pid), ended)
    return { cpuSeconds: ticks / 100, walBytes: row.wal, statements: row.statements }
  }
  return { sql, read, end: () => sql.end() }
}

/**
 * The hundredths of a second that a process ran, and with `withEnded` also those of its children
 * that have ended; where the system reports it, elsewhere NaN.
 */
export function ticksOf(pid: number, { withEnded = false } = {}) {
  const times = statOf(pid).slice(11, 15)
  return times.slice(0, withEnded ? 4 : 2).reduce((sum, each) => sum + each, 0)
}

const parentOf = (pid: number) => statOf(pid)[1] ?? 0

/** The system's figures of a process, from its state on. Nothing if it has ended. */
function statOf(pid: number) {
  if (process.platform !== 'linux') return Array<number>(15).fill(Number.NaN)
  try {
    const [, ...fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    return fields.join(') ').split(' ').map(Number)
  } catch {
    return []
  }
}
