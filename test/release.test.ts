import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { root } from './support/consumer.ts'

type Manifest = {
  name: string
  version: string
  private?: boolean
  license: string
  repository?: { directory: string }
  publishConfig?: { access: string; provenance: boolean }
  files?: string[]
  bin?: Record<string, string>
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  allowScripts?: Record<string, boolean>
  overrides?: Record<string, unknown>
}
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const manifestOf = (folder: string): Manifest => JSON.parse(read(join(folder, 'package.json')))
const published = ['contract', 'client-sdk', 'server']

test('the packages, the API and their dependencies on each other have one version', () => {
  const { version } = manifestOf('.')
  expect(limits.apiVersion).toBe(version)
  for (const folder of [...published, 'test']) {
    const { dependencies, devDependencies, ...manifest } = manifestOf(folder)
    expect([folder, manifest.version]).toEqual([folder, version])
    const own = Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) =>
      name.startsWith('@parley/'),
    )
    expect(own.map(([, range]) => range)).toEqual(own.map(() => version))
  }
})

test('each published package names its source and its licence, and is built', () => {
  for (const folder of published) {
    const manifest = manifestOf(folder)
    expect(manifest).toMatchObject({
      license: 'MIT',
      repository: { url: expect.stringContaining('github.com'), directory: folder },
      publishConfig: { access: 'public', provenance: true },
      homepage: expect.stringContaining('https://'),
      files: expect.arrayContaining(['dist']),
      scripts: { build: expect.any(String), prepack: expect.any(String) },
    })
    expect(manifest.private).toBeUndefined()
    expect(read(join(folder, 'LICENSE'))).toBe(read('LICENSE'))
  }
  expect(manifestOf('server').bin).toEqual({ parley: './dist/bin/parley.js' })
})

test('an application may have the client and a newer fix of what the client depends on', () => {
  const ranges = Object.values(manifestOf('client-sdk').dependencies ?? {})
  expect(ranges.length).toBeGreaterThan(0)
  for (const range of ranges) expect(range).toMatch(/^\^/)
})

test('production needs no compiler, no bundler and no migration tool', () => {
  const needed = Object.keys(manifestOf('server').dependencies ?? {})
  for (const tool of ['tsx', 'typescript', 'esbuild', 'vite', 'drizzle-orm', 'drizzle-kit'])
    expect(needed).not.toContain(tool)
})

type Locked = {
  version?: string
  dev?: boolean
  link?: boolean
  hasInstallScript?: boolean
  engines?: { node?: string }
}
const locked = () => {
  const { packages }: { packages: Record<string, Locked> } = JSON.parse(read('package-lock.json'))
  return Object.entries(packages)
}

test('one version of esbuild is installed, although four tools use it', () => {
  const copies = locked().filter(([path]) => path.endsWith('node_modules/esbuild'))
  expect(copies.map(([path]) => path)).toEqual(['node_modules/esbuild'])
})

/** Whether a range of versions has 20.19: the ranges that our packages have are simple. */
const acceptsOldest = (range: string) =>
  range.split('||').some((part) => {
    const [, operator = '', major = '', minor = '0'] =
      /^\s*(>=|\^|)\s*(\d+)(?:\.(\d+))?/.exec(part) ?? []
    const isMinorEnough = Number(minor) <= 19
    if (Number(major) === 20) return isMinorEnough
    return operator === '>=' && Number(major) < 20
  })

test('installed packages support Node.js 20.19, also where our overrides do not apply', () => {
  const needed = locked().filter(([path, { dev, link }]) => path !== '' && !dev && !link)
  const strict = needed.filter(([, { engines }]) => engines?.node && !acceptsOldest(engines.node))
  expect(strict.map(([path]) => path)).toEqual([])
  const { overrides = {} } = manifestOf('.')
  const { devDependencies = {} } = manifestOf('server')
  expect(Object.keys(devDependencies)).toEqual(expect.arrayContaining(Object.keys(overrides)))
})

test('every install script is refused, so that npm ci has nothing to ask', () => {
  const scripted = locked()
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
  const refused = Object.fromEntries([...new Set(scripted)].map((name) => [name, false]))
  expect(manifestOf('.').allowScripts).toEqual(refused)
})

test('the image runs JavaScript as a user without rights, with its health asked for', () => {
  const dockerfile = read('Dockerfile')
  const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '))
  expect(last).toMatch(/^USER 1000:1000$/m)
  expect(last).toMatch(/^ENV NODE_ENV=production /m)
  expect(last).toMatch(/^HEALTHCHECK /m)
  expect(last).toMatch(/^ENTRYPOINT \["node", "\/app\/server\/dist\/bin\/parley\.js"\]$/m)
  expect(last).not.toMatch(/tsx|npm/)
})
