import { execFile, spawn } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createApi } from '@parley/client/api'
import { readMigrations } from '@parley/server/db/migration-files'
import { publint } from 'publint'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { root } from '../support/consumer.ts'
import { type Packed, packages, unpack } from '../support/packed.ts'
import { linkProductionModules } from '../support/production-modules.ts'
import { baseUrl, production, useChildren } from '../support/start.ts'
import { patient } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()
const children = useChildren()
const run = promisify(execFile)
const workspaces = {
  contract: '@parley/contract',
  'client-sdk': '@parley/client',
  server: '@parley/server',
}

/** A project outside of the repository that has installed what would be published. */
let project: string
let packed: Packed[]

beforeAll(async () => {
  project = realpathSync(mkdtempSync(join(tmpdir(), 'parley-installed-')))
  packed = await packages()
  for (const each of packed) await unpack(each, project)
  linkProductionModules(project)
})
afterAll(() => rmSync(project, { recursive: true, force: true }))

const filesOf = (name: string) =>
  packed.find((each) => each.name === name)?.files.map(({ path }) => path) ?? []

test('each package has its licence, readme and source maps, and no sources or tests', () => {
  for (const [folder, name] of Object.entries(workspaces)) {
    const files = filesOf(name)
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']))
    const strange = files.filter(
      (path) => !/^(dist\/|LICENSE|README|THIRD-PARTY|package)/.test(path),
    )
    expect(strange).toEqual([])
    expect(
      files.filter((path) => /(^|[^d])\.tsx?$|\.test\.|\.env|_snapshot\.json/.test(path)),
    ).toEqual([])
    const scripts = files.filter((path) => path.endsWith('.js'))
    expect(scripts).toContain(name === '@parley/server' ? 'dist/bin/parley.js' : 'dist/index.js')
    for (const script of scripts) {
      expect(files).toContain(`${script}.map`)
      expect(readFileSync(join(root, folder, script), 'utf8')).toContain('//# sourceMappingURL=')
    }
  }
})

test('each package names only files that it has, and publint finds nothing', async () => {
  for (const name of Object.values(workspaces)) {
    const pkgDir = join(project, 'node_modules', name)
    const named: string[] = []
    JSON.parse(readFileSync(join(pkgDir, 'package.json'), 'utf8'), (_key, value) => {
      if (typeof value === 'string' && value.startsWith('./')) named.push(value.slice(2))
      return value
    })
    expect(named.length).toBeGreaterThan(0)
    expect(filesOf(name)).toEqual(expect.arrayContaining(named))
    const { messages } = await publint({ pkgDir, pack: false, strict: true })
    expect([name, ...messages]).toEqual([name])
  }
})

test('the packed server has and runs the migrations, the protocol and the pages', () => {
  const files = filesOf('@parley/server')
  const migrations = readMigrations().map(({ name }) => `dist/db/migrations/${name}.sql`)
  expect(files).toEqual(
    expect.arrayContaining([
      ...migrations,
      'dist/db/migrations/meta/_journal.json',
      'dist/realtime/protocol/centrifuge.proto',
      'dist/http/playground.json',
      'dist/http/docs.json',
      'THIRD-PARTY.md',
    ]),
  )
  expect(files.filter((path) => path.endsWith('.sql'))).toHaveLength(migrations.length)
})

test('a project with the packages installed starts a server that carries messages', async () => {
  const bin = join(project, 'node_modules/@parley/server/dist/bin/parley.js')
  const { stdout: help } = await run(bin, ['--help'], { cwd: project })
  expect(help).toContain('Usage: parley [command]')

  const server = start(bin, { ...production, DATABASE_URL: world().databaseUrl })
  const url = await server.url()
  expect((await fetch(`${url}/health`)).status).toBe(200)
  const operator = createApi({ url, adminKey: production.ADMIN_API_KEY })
  const { apiKey } = await operator.apps.create({ name: 'Installed' })
  const { token } = await createApi({ url, apiKey }).tokens.create({ userId: 'ana' })
  const ana = createApi({ url, token })
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  expect(await ana.messages.send({ channelId, text: 'hello' })).toMatchObject({ seq: 1 })
  const document = await (await fetch(`${url}/openapi.json`)).text()
  expect(document).toBe(readFileSync(join(root, 'openapi.json'), 'utf8'))
  // A stack points to the sources, although they are not there.
  await world().db`alter table pins rename to renamed`
  await ana.pins.list({ channelId }).catch(() => {})
  await world().db`alter table renamed rename to pins`
  await vi.waitFor(
    () => expect(server.output()).toMatch(/@parley\/server\/features\/\S+\.ts:\d+/),
    patient,
  )
  server.child.kill('SIGTERM')
  expect(await server.code).toBe(0)
})

test('the installed program without a command starts a server with a playground', async () => {
  const bin = join(project, 'node_modules/@parley/server/dist/bin/parley.js')
  const DATABASE_URL = world().databaseUrl
  const given = { DATABASE_URL, DEMO_APP: 'yes', DATA_DIR: join(project, 'data') }
  const server = start(bin, given, [])
  const page = await fetch(`${await server.url()}/playground/`)
  expect(page.status).toBe(200)
  const [, asset = ''] = /src="([^"]+\.js)"/.exec(await page.text()) ?? []
  expect((await fetch(new URL(asset, page.url))).status).toBe(200)
  expect(readdirSync(project)).toContain('data')
})

/** The processor time until it answers, and the memory that it has then. */
async function costOfStart(command: string[], cwd: string) {
  const variables = { ...production, DATABASE_URL: world().databaseUrl, PORT: '0' }
  const [program = '', ...args] = command
  const child = spawn(program, args, { cwd, env: { PATH: process.env.PATH, ...variables } })
  children.adopt(child)
  let output = ''
  child.stdout.on('data', (data) => (output += data))
  const url = await vi.waitFor(
    () => baseUrl.exec(output)?.[1] ?? Promise.reject(new Error(output)),
    patient,
  )
  expect((await fetch(`${url}/health`)).status).toBe(200)
  const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  child.kill('SIGKILL')
  return {
    ticks: Number(stat[11]) + Number(stat[12]),
    megabytes: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024,
  }
}

test.runIf(process.platform === 'linux')(
  'an installed server starts in 60 % of the time of its sources, with 40 MB less memory',
  async () => {
    const bin = join(project, 'node_modules/@parley/server/dist/bin/parley.js')
    const built = await costOfStart([process.execPath, bin], project)
    const scripts: Record<string, string> = JSON.parse(
      readFileSync(join(root, 'package.json'), 'utf8'),
    ).scripts
    const sources = await costOfStart(scripts.start?.split(' ') ?? [], root)
    expect(built.ticks).toBeLessThan(0.6 * sources.ticks)
    expect(built.megabytes).toBeLessThan(sources.megabytes - 40)
  },
)

test('an installed server has few files, and loads no packages that it does not use', async () => {
  const scriptsOf = (name: string) => filesOf(name).filter((path) => path.endsWith('.js'))
  expect(scriptsOf('@parley/contract')).toEqual(['dist/index.js'])
  expect(scriptsOf('@parley/server').length).toBeLessThan(50)
  const lister = join(project, 'lister.cjs')
  const list = join(project, 'loaded.json')
  writeFileSync(
    lister,
    `process.on('exit', () => require('node:fs').writeFileSync(
      ${JSON.stringify(list)}, JSON.stringify(Object.keys(require.cache))))`,
  )
  const bin = join(project, 'node_modules/@parley/server/dist/bin/parley.js')
  const server = start(bin, {
    ...production,
    DATABASE_URL: world().databaseUrl,
    SHUTDOWN_DELAY_SECONDS: '0',
    NODE_OPTIONS: `--require ${lister}`,
  })
  await server.url()
  server.child.kill('SIGTERM')
  expect(await server.code).toBe(0)
  const loaded: string[] = JSON.parse(readFileSync(list, 'utf8'))
  const isOf = (name: string) => loaded.some((path) => path.includes(`/node_modules/${name}/`))
  expect(isOf('fastify')).toBe(true)
  for (const name of ['ajv', 'htmlparser2', 'ioredis']) expect(isOf(name)).toBe(false)
})

test('an installation has less than 200 MB, and less than 90 without optional packages', () => {
  type Locked = { dev?: boolean; link?: boolean; optional?: boolean; devOptional?: boolean }
  const lock: { packages: Record<string, Locked> } = JSON.parse(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  )
  const sizes = Object.entries(lock.packages)
    .filter(([path, { dev, link }]) => /^(server\/)?node_modules\//.test(path) && !dev && !link)
    .map(([path, { optional, devOptional }]) => ({
      megabytes: megabytesOf(join(root, path)),
      isOptional: optional === true || devOptional === true,
    }))
  const ours = ['contract', 'server'].map((name) => ({
    megabytes: megabytesOf(join(root, name, 'dist')),
    isOptional: false,
  }))
  const total = (parts: typeof sizes) => parts.reduce((sum, { megabytes }) => sum + megabytes, 0)
  const all = [...sizes, ...ours]
  expect(total(all)).toBeLessThan(200)
  expect(total(all.filter(({ isOptional }) => !isOptional))).toBeLessThan(90)
})

/** The files of a package, without the packages in it, which have entries of their own. */
function megabytesOf(folder: string) {
  if (!existsSync(folder)) return 0
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const own = files.filter((file) => !/(^|\/)node_modules(\/|$)/.test(file))
  const stats = own.map((file) => lstatSync(join(folder, file)))
  return stats.reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0) / 1024 ** 2
}

/** Starts the installed program as its user would. */
function start(bin: string, variables: Record<string, string>, args = ['start']) {
  const env = { PATH: process.env.PATH, PORT: '0', HOST: '127.0.0.1', ...variables }
  const child = spawn(bin, args, { cwd: project, env })
  children.adopt(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  const code = new Promise<number | null>((resolve) => child.on('close', resolve))
  const url = () =>
    vi.waitFor(() => baseUrl.exec(output)?.[1] ?? Promise.reject(new Error(output)), patient)
  return { child, code, url, output: () => output }
}
