import { join } from 'node:path'
import { accountFor } from './account.ts'
import { addressFor } from './address.ts'
import { binariesFor, installedPackage } from './binaries.ts'
import { type Cluster, prepareCluster } from './cluster.ts'
import { chooseDataDir, requireWritable } from './data-dir.ts'
import { keepRunning } from './keep-running.ts'
import { lockDirectory, requireUnlocked } from './lock.ts'
import { startPostmaster } from './postmaster.ts'

export type EmbeddedPostgres = {
  /** The directory of the Unix socket; 127.0.0.1 on Windows. */
  host: string
  port: number
  user: string
  password?: string
  database: 'parley'
  /** The directory of lock, log and database files: the requested one, or that of the notice. */
  dataDir: string
  /**
   * Sufficient for psql, libpq and pg. Postgres.js understands neither a socket directory in a URL
   * nor `?host=`, and needs the host as an option: `postgres(url, { host })`.
   */
  url: string
  /** Ends the server, whether started or adopted, and releases `dataDir`. */
  stop(): Promise<void>
}

export type EmbeddedPostgresOptions = {
  dataDir: string
  settings?: Record<string, string>
  onNotice?: (line: string) => void
  /** If given, a server that ends by itself is restarted. Called with a line if that fails. */
  onLost?: (line: string) => void
}

/** Starts (or adopts) the PostgreSQL below `dataDir`. Resolves when it accepts connections. */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const { dataDir, account } = await chooseDataDir(options)
  const release = lockDirectory(dataDir)
  try {
    const directory = join(dataDir, 'postgres')
    const address = await addressFor({ dataDir, clusterDirectory: directory, account })
    const cluster: Cluster = {
      directory,
      address,
      account,
      binaries: await binariesFor(account),
      log: join(dataDir, 'postgres.log'),
      settings: { ...defaultSettings, ...options.settings, ...address.settings },
    }
    await prepareCluster(cluster)
    const postmaster = await startPostmaster(cluster)
    const { onLost, onNotice = () => {} } = options
    const end = onLost ? keepRunning(cluster, postmaster, { onNotice, onLost }) : postmaster.stop
    let stopping: Promise<void> | undefined
    const stop = () => {
      stopping ??= end().finally(release)
      return stopping
    }
    return { ...address.connection, database: 'parley', dataDir, url: address.url, stop }
  } catch (error) {
    release()
    throw error
  }
}

/**
 * Throws if a start would fail for lack of a place or of the programs, or because another process
 * uses that place. It makes nothing.
 */
export function requireEmbeddable(dataDir: string) {
  requireWritable(dataDir)
  accountFor(join(dataDir, 'postgres'))
  requireUnlocked(dataDir)
  installedPackage()
}

export const DEFAULT_CONNECTIONS = 200
const defaultSettings = {
  max_connections: String(DEFAULT_CONNECTIONS),
  shared_buffers: '128MB',
  logging_collector: 'off',
}
