import { join } from 'node:path'
import { addressFor } from './address.ts'
import { binariesFor } from './binaries.ts'
import { type Cluster, prepare } from './cluster.ts'
import { homeFor } from './home.ts'
import { lock } from './lock.ts'
import { startPostmaster } from './postmaster.ts'

export type EmbeddedPostgres = {
  /** The directory of the Unix socket; 127.0.0.1 on Windows. */
  host: string
  port: number
  user: string
  password?: string
  database: 'parley'
  /** Where lock, log and database files are: the directory asked for, or the one `onNotice` told of. */
  dataDir: string
  /**
   * Complete for psql, libpq and pg. Postgres.js decodes no socket directory in a URL and takes no `?host=` either:
   * it needs the host beside it, `postgres(url, { host })`.
   */
  url: string
  /** Ends the server, adopted or not, and gives `dataDir` free. */
  stop(): Promise<void>
}

/** Starts (or adopts) the PostgreSQL below `dataDir`; answers when it accepts connections. DESIGN.md §1. */
export async function startEmbeddedPostgres(options: {
  dataDir: string
  settings?: Record<string, string>
  onNotice?: (line: string) => void
}): Promise<EmbeddedPostgres> {
  const { home, account } = await homeFor(options)
  const release = lock(home)
  try {
    const directory = join(home, 'postgres')
    const address = await addressFor({ home, directory, account })
    const cluster: Cluster = {
      directory,
      address,
      account,
      binaries: await binariesFor(account),
      log: join(home, 'postgres.log'),
      settings: { ...defaults, ...options.settings, ...address.settings },
    }
    await prepare(cluster)
    const postmaster = await startPostmaster(cluster)
    let stopping: Promise<void> | undefined
    const stop = () => {
      stopping ??= postmaster.stop().finally(release)
      return stopping
    }
    return {
      ...address.connection,
      database: 'parley',
      dataDir: home,
      url: address.url,
      stop,
    }
  } catch (error) {
    release()
    throw error
  }
}

const defaults = { max_connections: '200', shared_buffers: '128MB', logging_collector: 'off' }
