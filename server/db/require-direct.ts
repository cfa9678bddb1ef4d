import { type DbConnection, openConnection } from './client.ts'
import { singleSocket } from './single-socket.ts'

const REFUSAL =
  'DATABASE_URL leads to a connection pooler, like pgbouncer: it drops our settings, in session ' +
  'mode, too, and LISTEN in transaction mode. Use the address of PostgreSQL itself; ' +
  'DATABASE_POOL_SIZE limits the connections.'

/** A start has more time than a call. */
const PATIENCE_MS = 10_000
/** Some of it is for connecting. */
const ANSWER_MS = 1.5 * PATIENCE_MS

/** The database accepts connections, and says nothing: a start tries again, as when it is away. */
class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'
  readonly code = 'ETIMEDOUT'
  constructor() {
    super(
      `DATABASE_URL accepts connections, but gives no answer in ${ANSWER_MS / 1_000} seconds: ` +
        'the database hangs, or a proxy or firewall before it passes nothing on',
    )
  }
}

type BackendFacts = { pid: number; hasSettings: boolean }

/**
 * Throws if a connection pooler answers instead of PostgreSQL, or nobody. By default a pooler
 * refuses our settings. If told to ignore them, it drops them. In transaction mode, a session
 * without a transaction loses its server process to another session.
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
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NoAnswerError()), ANSWER_MS)
  })
  try {
    await Promise.race([requireOwnBackend(one, other), late])
  } catch (error) {
    const isRefused = error instanceof Error && error.message.includes('startup parameter')
    throw isRefused ? new Error(REFUSAL) : error
  } finally {
    clearTimeout(timer)
    await Promise.all([one, other].map((sql) => sql.end({ timeout: 1 })))
  }
}

async function requireOwnBackend(one: DbConnection, other: DbConnection) {
  const session = (sql: DbConnection) =>
    sql<BackendFacts[]>`
      select
        pg_backend_pid() as pid,
        current_setting('enable_seqscan') = 'off' as has_settings`.simple()
  const [before] = await session(one)
  // With a single server process, the next session would wait for this one.
  if (!before?.hasSettings) throw new Error(REFUSAL)
  await other`begin`.simple()
  await session(other)
  const [after] = await session(one)
  if (before.pid !== after?.pid) throw new Error(REFUSAL)
}
