import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { type ResolutionContext, resolve } from 'metro-resolver'
import { expect, test } from 'vitest'
import { clientPackages, createConsumer, installPacked, run } from '../support/consumer.ts'

/** The packed client as Metro, the bundler of React Native, finds it. */

const ENTRIES = ['', '/react', '/api', '/snapshots', '/testing']
/** What pages have and React Native lacks. */
const PAGE_GLOBALS = [
  ...['window', 'document', 'location', 'navigator', 'indexedDB', 'localStorage'],
  ...['BroadcastChannel', 'addEventListener', 'removeEventListener', 'ServiceWorker'],
]

const readPackage = (path: string) =>
  existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined

/** The package that a path is in, whether there is a file or not. */
function packageOf(path: string) {
  const inPackage = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)
  const rootPath = inPackage?.[0] ?? ''
  const packageJson = readPackage(join(rootPath, 'package.json'))
  return packageJson && { packageJson, rootPath, packageRelativePath: relative(rootPath, path) }
}

/** As React Native sets Metro up; packages without `exports` were all that older ones knew. */
function createMetro(folder: string, { hasExports = true } = {}) {
  const contextOf = (originModulePath: string): ResolutionContext => ({
    allowHaste: false,
    assetExts: new Set(['png']),
    customResolverOptions: {},
    dev: true,
    disableHierarchicalLookup: false,
    doesFileExist: (path) => existsSync(path) && statSync(path).isFile(),
    extraNodeModules: null,
    fileSystemLookup: (path) => {
      if (!existsSync(path)) return { exists: false }
      const type = statSync(path).isFile() ? 'f' : 'd'
      return { exists: true, type, realPath: realpathSync(path) }
    },
    getPackage: readPackage,
    getPackageForModule: packageOf,
    isESMImport: true,
    mainFields: ['react-native', 'browser', 'main'],
    nodeModulesPaths: [],
    originModulePath,
    preferNativePlatform: true,
    redirectModulePath: (path) => path,
    resolveAsset: () => null,
    resolveHasteModule: () => null,
    resolveHastePackage: () => null,
    resolveRequest: null,
    sourceExts: ['js', 'jsx', 'json', 'ts', 'tsx'],
    unstable_conditionNames: ['react-native'],
    unstable_conditionsByPlatform: { web: ['browser'] },
    unstable_enablePackageExports: hasExports,
    unstable_incrementalResolution: false,
    unstable_logWarning: (warning) => {
      throw new Error(warning)
    },
  })
  return (name: string, from = join(folder, 'App.tsx')) => {
    const found = resolve(contextOf(from), name, 'ios')
    if (found.type !== 'sourceFile') throw new Error(`${name} is no module`)
    return found.filePath
  }
}

/** The files that are bundled for an entry, found by Metro, and the packages that they import. */
async function bundled(folder: string, entry: string) {
  const find = createMetro(folder)
  const files = new Set<string>()
  const packages = new Set<string>()
  const metro: Plugin = {
    name: 'metro',
    setup: ({ onResolve }) =>
      onResolve({ filter: /./ }, ({ path, importer }) => {
        if (/^\w/.test(path)) {
          packages.add(path)
          return { path, external: true }
        }
        const file = find(path, importer || undefined)
        files.add(file)
        return { path: file }
      }),
  }
  await build({
    ...{ entryPoints: [entry], bundle: true },
    write: false,
    format: 'esm',
    plugins: [metro],
  })
  return { files: [...files], packages: [...packages] }
}

test('Metro finds the entries of the packed client, which touch no page at import', async () => {
  const { folder } = createConsumer('client.ts', clientPackages)
  await installPacked('client-sdk', folder)
  const client = join(folder, 'node_modules/@parley/client')
  const built = await Promise.all(ENTRIES.map((entry) => bundled(folder, `@parley/client${entry}`)))
  const names = built.map(({ files }) => relative(client, files[0] ?? ''))
  const expected = ['index', 'react', 'api', 'snapshots', 'testing']
  expect(names).toEqual(expected.map((name) => `dist/browser/${name}.js`))
  const folders = built.flatMap(({ files }) => files.map(dirname))
  expect(new Set(folders)).toEqual(new Set([join(client, 'dist/browser')]))
  expect(built.map(({ packages }) => packages)).toEqual([[], ['react'], [], [], []])
  expect(built[0]?.files.length).toBeGreaterThan(3)
  const older = createMetro(folder, { hasExports: false })
  expect(older('@parley/client')).toBe(built[0]?.files[0])

  const all = new Set(built.flatMap(({ files }) => files))
  const program = `
    for (const name of ${JSON.stringify(PAGE_GLOBALS)})
      Object.defineProperty(globalThis, name, {
        configurable: true,
        get: () => {
          throw new Error('touched ' + name)
        },
      })
    for (const file of ${JSON.stringify([...all])}) await import(file)
    console.log('imported')`
  const args = ['--input-type=module', '--eval', program]
  const { stdout } = await run(process.execPath, args, { cwd: folder })
  expect(stdout.trim()).toBe('imported')
})
