import { execFile } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'

/** The user that runs the server when we are root, which PostgreSQL refuses to be. */
export type Account = { name: string; uid: number; gid: number }

/** Root hands over to the owner of the database's files, at first to postgres or nobody; anyone else needs no account. */
export const accountFor = (databaseFiles: string): Account | undefined => {
  const me = process.getuid?.()
  const owner = statSync(databaseFiles, { throwIfNoEntry: false })
  if (me === 0) return owner?.uid ? accountOf(owner) : systemAccount()
  if (owner && me !== undefined && owner.uid !== me)
    throw new Error(
      `Database files ${databaseFiles} belong to user ${owner.uid}, not to us (user ${me})`,
    )
  return undefined
}

/** How PostgreSQL's programs are started. They get nothing of our environment: it holds our secrets, theirs can be read by their user. */
export const runAs = (account: Account | undefined) => ({
  // Ours may be one the account cannot enter.
  cwd: '/',
  env: { PATH: process.env.PATH, SystemRoot: process.env.SystemRoot, LC_ALL: 'C', TZ: 'UTC' },
  uid: account?.uid,
  gid: account?.gid,
  windowsHide: true,
})

/** Runs a program to its end; answers with what it complained about, if it failed. */
export const complaintOf = (program: string, args: string[], account: Account | undefined) =>
  new Promise<string | undefined>((resolve) => {
    execFile(program, args, runAs(account), (error, _output, complaint) =>
      resolve(error ? complaint.trim() || error.message : undefined),
    )
  }).catch((error) => {
    // Not the program's doing: in some containers root may not change its user.
    throw new Error(`Cannot run ${program} as user ${account?.name}, set DATABASE_URL: ${error}`)
  })

/** macOS says _postgres, and gives nobody a negative number. */
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

const readAccounts = (): Account[] =>
  readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => {
      const [name = '', , uid, gid] = line.split(':')
      return { name, uid: Number(uid), gid: Number(gid) }
    })
