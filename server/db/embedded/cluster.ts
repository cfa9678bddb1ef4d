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
import { type Account, complaintOf } from './account.ts'
import type { Address } from './address.ts'

/** The database's files, and what it takes to run a server on them. */
export type Cluster = {
  directory: string
  log: string
  binaries: string
  account: Account | undefined
  address: Address
  settings: Record<string, string>
}

/** Sees to it that the files are there, whole, and belong to the account. */
export const prepare = async (cluster: Cluster) => {
  if (existsSync(join(cluster.directory, 'PG_VERSION'))) return own(cluster)
  await initialise(cluster)
}

const drafts = 'postgres.new-'

/** Made under another name: what bears the right one is complete, whenever we may be killed. */
const initialise = async (cluster: Cluster) => {
  const home = dirname(cluster.directory)
  clear(home)
  const draft = mkdtempSync(join(home, drafts))
  if (cluster.account) chownSync(draft, cluster.account.uid, cluster.account.gid)
  const complaint = await complaintOf(
    join(cluster.binaries, 'initdb'),
    initdbArguments(cluster, draft),
    cluster.account,
  )
  if (complaint) {
    rmSync(draft, { recursive: true, force: true })
    throw new Error(`PostgreSQL's initdb failed: ${complaint}`)
  }
  renameSync(draft, cluster.directory)
}

/** The initdb of a killed start may still be writing there, hence the retries. */
const clear = (home: string) => {
  const abandoned = readdirSync(home).filter((entry) => entry.startsWith(drafts))
  for (const draft of abandoned)
    rmSync(join(home, draft), { recursive: true, force: true, maxRetries: 5 })
}

const initdbArguments = ({ address, settings }: Cluster, draft: string) => [
  `--pgdata=${draft}`,
  '--username=parley',
  '--encoding=UTF8',
  // Under plain C, ILIKE would not match é and É; other locales are not on every machine.
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--no-instructions',
  ...address.initdb,
  ...(settings.fsync === 'off' ? ['--no-sync'] : []),
]

/** Files that root has copied or restored are root's. */
const own = ({ directory, account }: Cluster) => {
  if (!account || statSync(directory).uid === account.uid) return
  for (const entry of ['', ...readdirSync(directory, { recursive: true, encoding: 'utf8' })])
    lchownSync(join(directory, entry), account.uid, account.gid)
}
