import { execFileSync } from 'node:child_process'
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject, onTestFinished, test } from 'vitest'
import { copyProject } from '../support/copy.ts'
import { addPolls } from '../support/noun.ts'

function nameNoSchema(migrations: string) {
  const [name = ''] = readdirSync(migrations).filter((file) => file.endsWith('_polls.sql'))
  const file = join(migrations, name)
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('"public".', ''))
}

test('a noun that is added by the list of CONTRIBUTING.md passes the checks and its tests', () => {
  const tree = realpathSync(mkdtempSync(join(tmpdir(), 'parley-noun-')))
  onTestFinished(() => rmSync(tree, { recursive: true }))
  copyProject(tree)
  const npm = (...args: string[]) =>
    execFileSync('npm', ['run', '--silent', ...args], {
      cwd: tree,
      encoding: 'utf8',
      stdio: 'pipe',
      // The tests of the copy use the PostgreSQL of this run, with a template of their own.
      env: { ...process.env, DATABASE_URL: inject('databaseUrl') },
    })

  addPolls(tree)
  npm('migration', '--', '--name', 'polls')
  nameNoSchema(join(tree, 'server/db/migrations'))
  npm('openapi')
  npm('client')
  npm('reference')
  npm('check')
  // Each worker loads the server once more, and others use the machine as well.
  const tests = [
    'polls',
    'rights/operations',
    'app-files',
    '/statements.test',
    'tenants',
    'aliases',
  ]
  npm('test', '--', '--maxWorkers', '2', ...tests)
}, 1_800_000)
