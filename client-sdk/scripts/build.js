import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { buildForBrowsers, front, shared } from './browser-build.js'
import { publicNames } from './public-names.js'

const MAX_CORE_BYTES = 30_000

// The published files: for browsers and React Native without any bare import but React's, and for
// Node.js with its WebSocket.
const here = join(import.meta.dirname, '..')
const dist = join(here, 'dist')
rmSync(dist, { recursive: true, force: true })
await build({
  ...shared,
  entryPoints: { ...front, server: 'server.ts' },
  outdir: dist,
  conditions: ['parley-source', 'node'],
})
const browser = join(dist, 'browser')
const {
  files: built,
  mangleCache: shortened,
  metafile,
} = await buildForBrowsers({ outdir: browser, metafile: true })
mkdirSync(browser)
for (const [path, text] of built) writeFileSync(path, text)
// Names that applications, storages and the server know are kept, also deep in exported types.
const files = [
  ...Object.values(front),
  ...['generated/types.ts', 'backing-store/storage.ts', 'protocol/messages.ts'],
]
const known = publicNames(files.map((file) => join(here, file)))
// Chunks that are loaded later keep the names of their exports.
for (const { entryPoint, exports } of Object.values(metafile.outputs))
  for (const name of entryPoint ? exports : []) known.add(name)
const lost = Object.keys(shortened).filter((name) => known.has(name))
if (lost.length > 0) throw new Error(`public names would be shortened: ${lost.join(', ')}`)
const require = createRequire(join(here, '../package.json'))
const tsc = join(require.resolve('typescript/package.json'), '../bin/tsc')
const config = join(here, 'tsconfig.build.json')
execFileSync(process.execPath, [tsc, '-p', config], { stdio: 'inherit' })
await buildCommonJs()

/** A file for each module, so that all entries have the same classes, and the same types. */
async function buildCommonJs() {
  const outdir = join(dist, 'cjs')
  const declarations = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.d.ts'),
  )
  for (const file of declarations) cpSync(join(dist, file), join(outdir, file))
  const modules = declarations.map((file) => file.replace(/\.d\.ts$/, '.ts'))
  await build({
    absWorkingDir: here,
    entryPoints: [...modules, 'realtime/websocket.node.ts'],
    outdir,
    outbase: here,
    format: 'cjs',
    platform: 'node',
    target: 'es2022',
    sourcemap: true,
    supported: { 'dynamic-import': false },
  })
  for (const file of [...modules, 'realtime/websocket.node.ts']) {
    const path = join(outdir, file.replace(/\.ts$/, '.js'))
    const code = readFileSync(path, 'utf8')
      .replaceAll('require("#websocket")', 'require("./websocket.node.js")')
      .replace(/require\("(\.[^"]+)\.ts"\)/g, 'require("$1.js")')
    writeFileSync(path, code)
  }
  writeFileSync(join(outdir, 'package.json'), '{ "type": "commonjs" }\n')
}

// The size of the core as a browser loads it, without what is loaded later where it is needed.
const loadedLater = {
  name: 'loaded-later',
  setup: ({ onResolve }) =>
    onResolve({ filter: /./ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    ),
}
const core = await build({
  entryPoints: [join(dist, 'browser/index.js')],
  bundle: true,
  minify: true,
  format: 'esm',
  plugins: [loadedLater],
  write: false,
  logLevel: 'error',
})
const bytes = gzipSync(core.outputFiles[0].contents, { level: 9 }).length
if (bytes > MAX_CORE_BYTES)
  throw new Error(`the core has ${bytes} bytes gzipped; ${MAX_CORE_BYTES} are allowed`)
console.error(`core: ${bytes} of ${MAX_CORE_BYTES} bytes gzipped`)
