import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { connectOnce } from '@parley/server/db/client'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@parley/server/db/embedded/index'
import { withSchema } from '@parley/server/db/schema-name'
import { createDataFolder } from '../support/folders.ts'
import { runWithClock } from './database-clock.ts'

export type DatabaseOptions = {
  /** The folder of its files, if the scenario chooses it. */
  databaseFolder?: string | undefined
  /** The schema of the programs, whose role then owns that and nothing else. */
  schema?: string | undefined
  /** The library that fakes clocks, if the scenario needs it. */
  clockLibrary?: string | undefined
}

const OWNER = 'owner_of_a_schema'

/**
 * Starts a PostgreSQL for one run, which can be stopped the way administrators and crashes do. It
 * keeps what it commits when its processes end: only the disk itself is trusted.
 */
export async function startDatabase({
  databaseFolder: folder = createDataFolder('faults'),
  schema,
  clockLibrary,
}: DatabaseOptions) {
  const open = () =>
    startEmbeddedPostgres({ dataDir: folder, settings: { fsync: 'off', max_connections: '150' } })
  let server: EmbeddedPostgres = await open()
  const startWithClock = async (library: string) => {
    await server.stop()
    const clock = await runWithClock(server.dataDir, library)
    server = await open()
    return clock
  }
  const clock = clockLibrary === undefined ? undefined : await startWithClock(clockLibrary)
  const signal = (name: NodeJS.Signals) => {
    const [pid] = readFileSync(join(server.dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')
    process.kill(Number(pid), name)
  }
  /** Lends a connection, past all proxies. */
  const use = async <T>(work: (sql: ReturnType<typeof connectOnce>) => Promise<T>) => {
    const sql = connectOnce(schema === undefined ? server.url : withSchema(server.url, schema))
    try {
      return await work(sql)
    } finally {
      await sql.end({ timeout: 1 })
    }
  }
  /** Runs one statement. */
  const ask = <Row extends object>(statement: string, parameters: string[] = []) =>
    use((sql) => sql.unsafe<Row[]>(statement, parameters))
  if (schema !== undefined) {
    await ask(`create role ${OWNER} login`)
    await ask(`create schema ${schema} authorization ${OWNER}`)
  }
  return {
    folder,
    url: server.url,
    /** The address by way of a proxy. */
    urlBy: (host: string) => {
      const { username, password, pathname } = new URL(server.url)
      if (schema !== undefined) return `postgres://${OWNER}@${host}${pathname}`
      return `postgres://${username}${password && `:${password}`}@${host}${pathname}`
    },
    ask,
    use,
    /** Sets its clock this many seconds ahead of the real one, if the scenario needs that. */
    setClock: (seconds: number) => clock?.set(seconds),
    /** Resolves when it is down. `fast` ends sessions, `immediate` is a crash. */
    stop: async (mode: 'fast' | 'immediate') => {
      signal(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
      await server.stop()
    },
    /** Resolves when it accepts connections. */
    start: async () => {
      server = await open()
    },
    /** Starts it again if it has ended, as it does without room for its log. */
    revive: async () => {
      const isServing = await ask('select 1').then(
        () => true,
        () => false,
      )
      if (isServing) return
      await server.stop()
      server = await open()
    },
    /** Ends the backends of these application names. Returns how many there were. */
    terminate: async (names: string[]) => {
      // PostgreSQL may evaluate the conditions of one query in any order. The names are selected
      // first, so that it ends no backend with another name.
      const ended = await ask<{ pid: number }>(
        `with named as materialized (
          select pid
          from pg_stat_activity
          where split_part(application_name, '/', 1) = any(string_to_array($1, ','))
        )
        select pid
        from named
        where pg_terminate_backend(pid)`,
        [names.join()],
      )
      return ended.length
    },
    end: async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
