import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { createConsumer, nodeStyle, root, run } from '../support/consumer.ts'
import { findOpenApiGenerator } from '../support/openapi-generator.ts'
import { tour } from '../support/tour.ts'
import { ADMIN_KEY, useWorld } from '../support/world.ts'

/** Clients that generators make of openapi.json alone carry out the README's tour. */

const world = useWorld()
const document = join(root, 'openapi.json')

const has = (...command: [string, ...string[]]) =>
  spawnSync(command[0], command.slice(1)).status === 0
const generator = await findOpenApiGenerator()
const hasPython = has(
  'python3',
  '-c',
  'import venv, ensurepip, sys; assert sys.version_info >= (3, 10)',
)
const hasGo = has('go', 'version')

/** Strict, but for what both generators get wrong in the code that they add to every client. */
const looseOptionals = { ...nodeStyle, exactOptionalPropertyTypes: false }

/** Defines the test. If something it needs is missing, it prints a line and is skipped. */
function testWith(needed: Record<string, boolean>, title: string, body: () => Promise<void>) {
  const missing = Object.keys(needed).filter((name) => !needed[name])
  if (missing.length > 0) console.log(`SKIPPED: ${title}: there is no ${missing.join(' and no ')}`)
  // They install packages, and compile.
  test.skipIf(missing.length > 0)(title, { timeout: 600_000 }, body)
}
const openApiGenerator = {
  'openapi-generator (Java and Maven, or its jar in OPENAPI_GENERATOR_JAR)':
    generator !== undefined,
}
const python = { 'Python 3.10 with venv': hasPython }

test('a client of @hey-api/openapi-ts compiles strictly and carries out the tour', async () => {
  const consumer = createConsumer('hey.ts', [])
  const config = {
    input: document,
    output: { path: join(consumer.folder, 'generated'), importFileExtension: '.js' },
    plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
    logs: { level: 'silent' },
  }
  const script = `
    import { createClient } from '@hey-api/openapi-ts'
    await createClient(${JSON.stringify(config)})`
  // It wants a TypeScript written in JavaScript: that of this workspace.
  const resolve = `export const resolve = (name, context, next) => next(name, name === 'typescript'
    ? { ...context, parentURL: '${pathToFileURL(join(root, 'test/package.json'))}' } : context)`
  const hook = `import { register } from 'node:module'
    register('data:text/javascript,' + ${JSON.stringify(encodeURIComponent(resolve))})`
  const asModule = `data:text/javascript,${encodeURIComponent(hook)}`
  const args = ['--import', asModule, '--input-type=module', '--eval', script]
  await run(process.execPath, args, { cwd: join(root, 'test') })
  await consumer.compile(7, looseOptionals)
  expect(await consumer.run(world().url, ADMIN_KEY)).toEqual(tour)
})

testWith(
  openApiGenerator,
  'a client of openapi-generator for TypeScript compiles strictly and carries out the tour',
  async () => {
    const consumer = createConsumer('fetch.ts', [])
    await generate('typescript-fetch', join(consumer.folder, 'generated'), {
      importFileExtension: '.js',
    })
    await consumer.compile(7, looseOptionals)
    expect(await consumer.run(world().url, ADMIN_KEY)).toEqual(tour)
  },
)

testWith(
  { ...openApiGenerator, ...python },
  'a client of openapi-generator for Python has plain ids and carries out the tour',
  async () => {
    const folder = newFolder()
    await generate('python', join(folder, 'generated'), { packageName: 'parley_api' })
    const programs = await install(['-r', 'generated/requirements.txt'], folder)
    const found = await runPython({ programs, folder, program: 'tour.py', path: 'generated' })
    expect(found).toEqual(tour)
  },
)

testWith(
  { ...openApiGenerator, Go: hasGo },
  'a client of openapi-generator for Go compiles, has plain ids and carries out the tour',
  async () => {
    const folder = newFolder()
    await generate('go', join(folder, 'api'), { packageName: 'api', enumClassPrefix: 'true' })
    for (const unneeded of ['test', 'go.mod', 'go.sum'])
      rmSync(join(folder, 'api', unneeded), { recursive: true, force: true })
    cpSync(join(root, 'test/consumers/tour.go'), join(folder, 'tour.go'))
    writeFileSync(join(folder, 'go.mod'), 'module parley\n\ngo 1.21\n')
    const env = { ...process.env, GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'local', GOPROXY: 'off' }
    const { stdout } = await run('go', ['run', '.', world().url, ADMIN_KEY], { cwd: folder, env })
    expect(JSON.parse(stdout)).toEqual(tour)
  },
)

testWith(
  python,
  'a client of openapi-python-client has plain ids and carries out the tour',
  async () => {
    const folder = newFolder()
    const programs = await install([`openapi-python-client==${PYTHON_CLIENT_VERSION}`], folder)
    const output = join(folder, 'parley_client')
    const args = ['generate', '--path', document, '--output-path', output, '--meta', 'none']
    writeFileSync(join(folder, 'config.yml'), 'post_hooks: []\n')
    await run(
      join(programs, 'openapi-python-client'),
      [...args, '--config', join(folder, 'config.yml')],
      { cwd: folder },
    )
    const found = await runPython({ programs, folder, program: 'tour_attrs.py', path: '.' })
    expect(found).toEqual(tour)
  },
)

const PYTHON_CLIENT_VERSION = '0.29.1'

function newFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'parley-generated-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function generate(language: string, output: string, properties: Record<string, string>) {
  const given = Object.entries(properties).map(([name, value]) => `${name}=${value}`)
  const [program = '', ...args] = generator ?? []
  await run(program, [
    ...args,
    'generate',
    '--generator-name',
    language,
    '--input-spec',
    document,
    '--output',
    output,
    '--additional-properties',
    [...given, 'disallowAdditionalPropertiesIfNotPresent=false'].join(),
  ])
}

/** A Python whose packages are those of the tests here. */
let environment: Promise<string> | undefined
async function createEnvironment() {
  const folder = mkdtempSync(join(tmpdir(), 'parley-python-'))
  await run('python3', ['-m', 'venv', folder])
  return folder
}
afterAll(async () => {
  if (environment) rmSync(await environment, { recursive: true, force: true })
})

/** Installs packages, of which only those that run are compiled; answers where programs are. */
async function install(packages: string[], cwd: string) {
  environment ??= createEnvironment()
  const programs = join(await environment, 'bin')
  const options = ['install', '--quiet', '--no-compile']
  await run(join(programs, 'pip'), [...options, ...packages], { cwd })
  return programs
}

async function runPython({ programs, folder, program, path }: PythonRun) {
  const { stdout } = await run(
    join(programs, 'python'),
    [join(root, 'test/consumers', program), world().url, ADMIN_KEY],
    { cwd: folder, env: { ...process.env, PYTHONPATH: join(folder, path) } },
  )
  return JSON.parse(stdout)
}
type PythonRun = { programs: string; folder: string; program: string; path: string }
