import { createHash } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Account, accountFor, complaintOf } from './account.ts'

/** Where lock, log and database files go, and who runs the server there: `dataDir`, or else a directory of the system's that its user can reach. */
export const homeFor = async ({
  dataDir,
  onNotice,
}: {
  dataDir: string
  onNotice?: (line: string) => void
}) => {
  const wanted = writable(dataDir)
  const account = accountFor(join(wanted, 'postgres'))
  const obstacle = account && (await barrier(wanted, account))
  if (!account || !obstacle) return { home: wanted, account }
  if (existsSync(join(wanted, 'postgres')))
    throw new Error(`Database files ${wanted} are ${obstacle}`)
  // Named after what was asked for: two checkouts are two databases.
  const home = join(await privateDirectory(account), `data-${digest(wanted)}`)
  makeDirectory(home)
  onNotice?.(`Database files: ${home} (${wanted} is ${obstacle})`)
  return { home, account: accountFor(join(home, 'postgres')) }
}

/** A directory of our own that the account can enter and nobody else can write to, or slip his own in place of. */
export const privateDirectory = async (account: Account | undefined) => {
  const user = process.getuid?.() ?? 0
  const temporary = [tmpdir(), '/tmp'].map((directory) => join(directory, `parley-${user}`))
  const candidates = new Set(user === 0 ? ['/var/lib/parley', ...temporary] : temporary)
  const refusals: string[] = []
  for (const directory of candidates) {
    const refusal = unfit(directory) ?? (account && (await barrier(directory, account)))
    if (!refusal) return realpathSync(directory)
    refusals.push(`${directory}: ${refusal}`)
  }
  throw new Error(`No directory for PostgreSQL's files, set DATABASE_URL. ${refusals.join('; ')}`)
}

export const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12)

const writable = (directory: string) => {
  try {
    mkdirSync(directory, { recursive: true })
    accessSync(directory, constants.W_OK)
    return realpathSync(directory)
  } catch (error) {
    throw new Error(`DATA_DIR ${directory} is not writable: ${error}`)
  }
}

/** Only trying tells: access lists, mounts and name spaces have their say besides the mode bits. */
const barrier = async (directory: string, account: Account) =>
  (await complaintOf('/bin/sh', ['-c', 'cd "$0"', directory], account)) &&
  `out of reach of user ${account.name}`

const unfit = (directory: string) => {
  // A socket's path has room for 103 bytes on macOS, 107 on Linux; what follows is "/socket-0123456789ab/.s.PGSQL.5432".
  if (Buffer.byteLength(directory) > 68) return 'too long for the path of a socket'
  try {
    makeDirectory(directory)
    accessSync(directory, constants.W_OK)
    const entry = lstatSync(directory)
    if (!entry.isDirectory() || entry.uid !== process.getuid?.()) return 'not ours'
    return pathTo(realpathSync(directory)).some(isOpenToOthers) ? 'others can change it' : undefined
  } catch (error) {
    return String(error)
  }
}

const makeDirectory = (directory: string) => {
  // The mode must not depend on the umask: the account has to get in.
  if (mkdirSync(directory, { recursive: true })) chmodSync(directory, 0o755)
}

const pathTo = (directory: string): string[] =>
  directory === dirname(directory) ? [directory] : [directory, ...pathTo(dirname(directory))]

const isOpenToOthers = (directory: string, index: number) => {
  const { mode } = statSync(directory)
  const isSticky = index > 0 && (mode & 0o1000) !== 0
  return (mode & 0o022) !== 0 && !isSticky
}
