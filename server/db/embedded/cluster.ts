import {
  chownSync,
  existsSync,
  lchownSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type Account, errorOutputOf } from './account.ts'
import type { ServerAddress } from './address.ts'

/** The database files and everything that is needed to run a server on them. */
export type Cluster = {
  /** PostgreSQL's own data directory, below our data directory. */
  directory: string
  log: string
  binaries: string
  account: Account | undefined
  address: ServerAddress
  settings: Record<string, string>
}

/** Makes sure that the database files exist, are complete and belong to the account. */
export const prepareCluster = async (cluster: Cluster) => {
  if (existsSync(join(cluster.directory, 'PG_VERSION'))) {
    chownToAccount(cluster)
    return
  }
  await initialise(cluster)
}

const DRAFT_PREFIX = 'postgres.new-'

/** Made under a temporary name: files with the final name are complete, even after a kill. */
const initialise = async (cluster: Cluster) => {
  const dataDir = dirname(cluster.directory)
  removeAbandonedDrafts(dataDir)
  const draft = mkdtempSync(join(dataDir, DRAFT_PREFIX))
  if (cluster.account) chownSync(draft, cluster.account.uid, cluster.account.gid)
  const error = await errorOutputOf(
    join(cluster.binaries, 'initdb'),
    initdbArguments(cluster, draft),
    cluster.account,
  )
  if (error) {
    rmSync(draft, { recursive: true, force: true })
    throw new Error(`PostgreSQL's initdb failed: ${error}`)
  }
  renameSync(draft, cluster.directory)
}

/** Retries, because the initdb of a killed start may still be writing there. */
const removeAbandonedDrafts = (dataDir: string) => {
  const abandoned = readdirSync(dataDir).filter((entry) => entry.startsWith(DRAFT_PREFIX))
  for (const draft of abandoned)
    rmSync(join(dataDir, draft), { recursive: true, force: true, maxRetries: 5 })
}

const initdbArguments = ({ address, settings }: Cluster, draft: string) => [
  `--pgdata=${draft}`,
  '--username=parley',
  '--encoding=UTF8',
  // With locale C, ILIKE would not match é and É; other locales are not on every machine.
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--no-instructions',
  ...address.initdb,
  ...(settings.fsync === 'off' ? ['--no-sync'] : []),
]

/** Files that root has copied or restored belong to root, and the account could not read them. */
const chownToAccount = ({ directory, account }: Cluster) => {
  if (!account || statSync(directory).uid === account.uid) return
  for (const entry of ['', ...readdirSync(directory, { recursive: true, encoding: 'utf8' })])
    lchownSync(join(directory, entry), account.uid, account.gid)
}
