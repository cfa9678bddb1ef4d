import { createHash } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { type Account, accountFor, errorOutputOf } from './account.ts'

type DataDirOptions = { dataDir: string; onNotice?: (line: string) => void }

/**
 * Chooses the directory of lock, log and database files, and the account that runs the server
 * there. It is the requested directory, unless the account cannot enter it.
 */
export const chooseDataDir = async ({ dataDir, onNotice }: DataDirOptions) => {
  const requested = createWritable(dataDir)
  const account = accountFor(join(requested, 'postgres'))
  const problem = account && (await accessProblem(requested, account))
  if (!account || !problem) return { dataDir: requested, account }
  if (existsSync(join(requested, 'postgres')))
    throw new Error(`DATA_DIR: ${requested} is ${problem}`)
  const chosen = join(await privateDirectory(account), nameFor(requested))
  createDirectory(chosen)
  onNotice?.(`Database files: ${chosen} (${requested} is ${problem})`)
  return { dataDir: chosen, account: accountFor(join(chosen, 'postgres')) }
}

/** Where a start would keep the files, and why not as requested. It makes nothing. */
export async function describeDataDir(dataDir: string) {
  const account = accountFor(join(dataDir, 'postgres'))
  const nearest = pathTo(dataDir).find((folder) => existsSync(folder)) ?? '/'
  const problem = account && (await accessProblem(nearest, account))
  if (!problem) return dataDir
  const requested = join(realpathSync(nearest), relative(nearest, dataDir))
  return `${join(OF_ROOT, nameFor(requested))} (${requested} is ${problem})`
}

/** The first choice of root, who alone runs PostgreSQL as another user. */
const OF_ROOT = '/var/lib/parley'

/** Named after the requested directory, so that two checkouts have two databases. */
const nameFor = (requested: string) => `data-${digest(requested)}`

/** A directory that the account can enter, and that no other user can write to or replace. */
export const privateDirectory = async (account: Account | undefined) => {
  const user = process.getuid?.() ?? 0
  const temporary = [tmpdir(), '/tmp'].map((directory) => join(directory, `parley-${user}`))
  const candidates = new Set(user === 0 ? [OF_ROOT, ...temporary] : temporary)
  const problems: string[] = []
  for (const directory of candidates) {
    const problem =
      privacyProblem(directory) ?? (account && (await accessProblem(directory, account)))
    if (!problem) return realpathSync(directory)
    problems.push(`${directory}: ${problem}`)
  }
  throw new Error(`No directory for PostgreSQL's files, set DATABASE_URL. ${problems.join('; ')}`)
}

export const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12)

const createWritable = (directory: string) => {
  try {
    makeFolder(directory)
  } catch (error) {
    throw unwritable(directory, error)
  }
  requireWritable(directory)
  return realpathSync(directory)
}

/**
 * Makes a folder and those that it is in. Where the system makes none, as in /proc, Node.js's own
 * recursion does not end.
 */
export function makeFolder(directory: string) {
  const missing = pathTo(directory).filter((folder) => !existsSync(folder))
  for (const folder of missing.toReversed())
    try {
      mkdirSync(folder)
    } catch (error) {
      // Another start may have made it.
      if (!existsSync(folder)) throw error
    }
}

/**
 * Throws if it could not be made, or written to. It tries, and leaves nothing: mode bits do not say
 * that a mount is read-only, that its disk is full, or that it is /proc or /sys.
 */
export function requireWritable(directory: string) {
  const nearest = pathTo(directory).find((folder) => existsSync(folder)) ?? directory
  try {
    tryToWrite(nearest)
  } catch (error) {
    throw unwritable(directory, error)
  }
}

function tryToWrite(folder: string) {
  const inner = mkdtempSync(join(folder, '.parley-'))
  const file = join(inner, 'tried')
  try {
    writeFileSync(file, 'tried')
  } finally {
    rmSync(file, { force: true })
    rmdirSync(inner)
  }
}

/** The error of a folder that cannot be made, or written to. */
export function unwritable(directory: string, error: unknown) {
  const code = error instanceof Error && 'code' in error ? error.code : 'error'
  return new Error(`DATA_DIR: ${directory} is not writable (${code}). Set another folder`)
}

/** Tries it out: besides mode bits there are access lists, mounts and name spaces. */
const accessProblem = async (directory: string, account: Account) => {
  const error = await errorOutputOf('/bin/sh', ['-c', 'cd "$0"', directory], account)
  return error && `out of reach of user ${account.name}`
}

/**
 * A socket's path may have 103 bytes on macOS and 107 on Linux, and
 * "/socket-0123456789ab/.s.PGSQL.5432" is appended to the directory.
 */
const LONGEST_PATH_BYTES = 68

const privacyProblem = (directory: string) => {
  if (Buffer.byteLength(directory) > LONGEST_PATH_BYTES) return 'too long for the path of a socket'
  try {
    createDirectory(directory)
    accessSync(directory, constants.W_OK)
    const entry = lstatSync(directory)
    if (!entry.isDirectory() || entry.uid !== process.getuid?.())
      return 'not a directory of the user that runs the server'
    const isReplaceable = pathTo(realpathSync(directory)).some(isWritableByOthers)
    return isReplaceable ? 'writable by other users' : undefined
  } catch (error) {
    return String(error)
  }
}

const createDirectory = (directory: string) => {
  // The mode must not depend on the umask: the account has to be able to enter.
  if (mkdirSync(directory, { recursive: true })) chmodSync(directory, 0o755)
}

const pathTo = (directory: string): string[] =>
  directory === dirname(directory) ? [directory] : [directory, ...pathTo(dirname(directory))]

/** In a sticky parent directory, others can create entries but not replace ours. */
const isWritableByOthers = (directory: string, index: number) => {
  const { mode } = statSync(directory)
  const isStickyParent = index > 0 && (mode & 0o1000) !== 0
  return (mode & 0o022) !== 0 && !isStickyParent
}
