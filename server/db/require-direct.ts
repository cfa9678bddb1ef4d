import { openConnection } from './client.ts'
import { singleSocket } from './single-socket.ts'

const REFUSAL =
  'DATABASE_URL leads to a connection pooler, like pgbouncer: it keeps neither settings nor ' +
  'LISTEN. Use the address of PostgreSQL itself; DATABASE_POOL_SIZE limits the connections.'

/** A start has more time than a call. */
const PATIENCE_MS = 10_000

type BackendFacts = { pid: number; hasSettings: boolean }

/**
 * Throws if a connection pooler answers instead of PostgreSQL. By default a pooler refuses our
 * settings. If told to ignore them, it drops them. In transaction mode, a session without a
 * transaction loses its server process to another session.
 */
export async function requireDirectConnection(url: string) {
  const open = () =>
    openConnection({
      url,
      applicationName: 'parley-start',
      socket: singleSocket(),
      statementMs: PATIENCE_MS,
    })
  const [one, other] = [open(), open()]
  const session = (sql: typeof one) =>
    sql<BackendFacts[]>`
    select pg_backend_pid() as pid,
      current_setting('enable_seqscan') = 'off' as has_settings`.simple()
  try {
    const [before] = await session(one)
    // With a single server process, the next session would wait for this one.
    if (!before?.hasSettings) throw new Error(REFUSAL)
    await other`begin`.simple()
    await session(other)
    const [after] = await session(one)
    if (before.pid !== after?.pid) throw new Error(REFUSAL)
  } catch (error) {
    const isRefused = error instanceof Error && error.message.includes('startup parameter')
    throw isRefused ? new Error(REFUSAL) : error
  } finally {
    await Promise.all([one, other].map((sql) => sql.end({ timeout: 1 })))
  }
}
