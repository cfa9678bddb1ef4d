import { execFile } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'

/** The user PostgreSQL runs as when this process is root, because PostgreSQL refuses to be root. */
export type Account = { name: string; uid: number; gid: number }

/**
 * For root, the owner of the database files, or the user postgres or nobody if there are no files
 * yet. Any other user runs PostgreSQL as themselves and needs no account.
 */
export const accountFor = (databaseFiles: string): Account | undefined => {
  const me = process.getuid?.()
  const owner = statSync(databaseFiles, { throwIfNoEntry: false })
  if (me === 0) {
    return owner?.uid ? accountOf(owner) : systemAccount()
  }
  if (owner && me !== undefined && owner.uid !== me)
    throw new Error(
      `DATA_DIR: ${databaseFiles} belongs to user ${owner.uid}, not to user ${me}. ` +
        'Start as that user, or set another folder',
    )
  return undefined
}

/**
 * How PostgreSQL's programs are started. They do not inherit our environment: it holds our secrets,
 * and the account can read theirs.
 */
export const spawnOptionsFor = (account: Account | undefined) => ({
  // The account may not be able to enter our working directory.
  cwd: '/',
  env: { PATH: process.env.PATH, SystemRoot: process.env.SystemRoot, LC_ALL: 'C', TZ: 'UTC' },
  uid: account?.uid,
  gid: account?.gid,
  windowsHide: true,
})

/** Runs a program to its end. Returns what it wrote to stderr if it failed, undefined otherwise. */
export const errorOutputOf = (program: string, args: string[], account: Account | undefined) =>
  new Promise<string | undefined>((resolve) => {
    execFile(program, args, spawnOptionsFor(account), (error, _stdout, stderr) =>
      resolve(error ? stderr.trim() || error.message : undefined),
    )
  }).catch((error) => {
    // The program was not started: in some containers root may not run programs as another user.
    throw new Error(`Cannot run ${program} as user ${account?.name}, set DATABASE_URL: ${error}`)
  })

/** macOS calls it _postgres, and its user nobody has a negative id. */
const systemAccount = () => {
  const accounts = new Map(readAccounts().map((account) => [account.name, account]))
  const account = accounts.get('postgres') ?? accounts.get('_postgres') ?? accounts.get('nobody')
  if (!account)
    throw new Error(
      'PostgreSQL does not run as root, and there is no user postgres or nobody: set DATABASE_URL',
    )
  return account
}

const accountOf = ({ uid, gid }: { uid: number; gid: number }) =>
  readAccounts().find((account) => account.uid === uid) ?? { name: String(uid), uid, gid }

const readAccounts = (): Account[] => {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  return lines.map((line) => {
    const [name = '', , uid, gid] = line.split(':')
    return { name, uid: Number(uid), gid: Number(gid) }
  })
}
