import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest'
import { copyProject } from '../support/copy.ts'
import { addPolls, forget, nameNoSchema } from '../support/noun/index.ts'

/** A copy of the project to which a noun was added by the list of CONTRIBUTING.md. */
let tree: string
beforeAll(async () => {
  tree = realpathSync(mkdtempSync(join(tmpdir(), 'parley-noun-')))
  copyProject(tree)
  addPolls(tree)
  // Some tests ask git for the files of the project.
  await run('git', ['init', '--quiet'], { cwd: tree })
  await npm('migration', '--name', 'polls')
  nameNoSchema(tree)
  for (const script of ['openapi', 'client', 'reference']) await npm(script)
  await runTests('test', ['tenants/prototype.test.ts'], '-u')
}, 600_000)
afterAll(() => rmSync(tree, { recursive: true }))

const run = promisify(execFile)

/** Runs a script of the copy. Its tests use the PostgreSQL of this run, and no folder of it. */
async function attempt(script: string, ...args: string[]) {
  const env = {
    ...process.env,
    ...{ DATABASE_URL: inject('databaseUrl'), LONG_PART: '1/1', SCALE: '0.002' },
    ...{ PACKED_FOLDER: undefined, STATEMENTS_FOLDER: undefined },
  }
  const running = run('npm', ['run', '--silent', script, '--', ...args], {
    cwd: tree,
    env,
    maxBuffer: 64 * 1024 * 1024,
  })
  const { code = 0, stdout, stderr } = await running.catch((failure) => failure)
  return { code, output: stripVTControlCharacters(`${stdout}\n${stderr}`) }
}

async function npm(script: string, ...args: string[]) {
  const { code, output } = await attempt(script, ...args)
  expect(code, `npm run ${script} ${args.join(' ')}\n${output}`).toBe(0)
}

/** Runs files of tests, or folders of them, of which each must be there. */
async function runTests(script: 'test' | 'test:long', files: string[], ...args: string[]) {
  expect(files.filter((file) => !existsSync(join(tree, 'test', file)))).toEqual([])
  await npm(script, ...options[script], ...files, ...args)
}
// Each worker loads the server once more, and others use the machine as well.
const few = ['--maxWorkers', '2']
const options = { test: few, 'test:long': ['--project', 'long', ...few] }

test('a noun added by the list of CONTRIBUTING.md passes the checks', async () => {
  await npm('check')
}, 1_800_000)

test('its tests pass, and those that look at every operation, id or table', async () => {
  await runTests('test', [
    ...['polls.test.ts', 'rights', 'tenants', 'app-files', 'users/export.test.ts'],
    ...['operator.test.ts', 'errors/paths.test.ts', 'sdk/retries.test.ts', 'custom-data.test.ts'],
    ...['openapi.test.ts', 'generators.test.ts', 'language.test.ts', 'documented-numbers.test.ts'],
    ...['lines.test.ts', 'mutations.test.ts', 'aliases.test.ts'],
    ...['statements.test.ts', 'declared-queries.test.ts', 'plans.test.ts'],
  ])
  const heavy = ['users/every-table.test.ts', 'run-time-schemas.test.ts', 'migrations.test.ts']
  await runTests('test:long', heavy)
  // Is it run in a big app? How much it reads there is measured by the rest of that file.
  await runTests('test:long', ['long/growth.long.ts'], '-t', 'every operation of the contract')
}, 1_800_000)

/** What `npm run` says of tests that must fail once these steps are forgotten. */
async function complaintsAbout(
  forgotten: string[],
  { script, tests }: { script: 'test' | 'test:long'; tests: string[] },
) {
  onTestFinished(forget(tree, ...forgotten))
  const { code, output } = await attempt(script, ...options[script], ...tests)
  expect(code, output).toBe(1)
  return output
}

test('a noun that is not exported, erased or documented fails the test of tables', async () => {
  const files = ['server/features/users/export-parts.ts', 'server/jobs/erasure.ts']
  const steps = [...files, 'docs/privacy.md']
  const tests = ['users/every-table.test.ts']
  const output = await complaintsAbout(steps, { script: 'test:long', tests })
  for (const fault of ['exported', 'kept after the erasure', 'not in docs/privacy.md'])
    expect(output).toContain(`AssertionError: ${fault}: expected`)
}, 600_000)

test('a noun without rights, ids or rows in the tests of all of these fails them', async () => {
  const steps = [
    ...['test/rights/operations.test.ts', 'test/rights/foreign-ids.test.ts'],
    ...['test/app-files/fixture.ts', 'test/operator.test.ts', 'test/tenants/prototype.test.ts'],
  ]
  const titles = {
    'rights/operations.test.ts': 'the table of rights has a row for every operation',
    'rights/foreign-ids.test.ts': 'every id field of the contract is covered',
    'app-files/app-files.test.ts': 'an imported app equals the exported one',
    'operator.test.ts': 'a deleted app is gone at once',
    'tenants/prototype.test.ts': 'the seeded rows of the second app are those',
  }
  const tests = [...Object.keys(titles), '-t', Object.values(titles).join('|')]
  const output = await complaintsAbout(steps, { script: 'test', tests })
  for (const [file, title] of Object.entries(titles))
    expect(output).toMatch(new RegExp(`FAIL .*${file} > ${title}`))
}, 600_000)
