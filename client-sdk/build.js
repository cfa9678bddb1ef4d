import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const MAX_CORE_BYTES = 30_000

// The published files: three entries that share their code, and their types.
const here = import.meta.dirname
const dist = join(here, 'dist')
rmSync(dist, { recursive: true, force: true })
await build({
  absWorkingDir: here,
  entryPoints: {
    index: 'index.ts',
    react: 'react/index.ts',
    server: 'server.ts',
    snapshots: 'snapshots.ts',
    websocket: 'websocket.ts',
    'websocket.node': 'websocket.node.ts',
  },
  outdir: dist,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'neutral',
  target: 'es2022',
  external: ['react', 'ws', 'standardwebhooks', '#websocket'],
  sourcemap: true,
})
const require = createRequire(join(here, '../package.json'))
const tsc = join(require.resolve('typescript/package.json'), '../bin/tsc')
const config = join(here, 'tsconfig.build.json')
execFileSync(process.execPath, [tsc, '-p', config], { stdio: 'inherit' })

// The size of the core as a browser loads it.
const core = await build({
  entryPoints: [join(dist, 'index.js')],
  bundle: true,
  minify: true,
  format: 'esm',
  write: false,
  external: ['#websocket'],
})
const bytes = gzipSync(core.outputFiles[0].contents, { level: 9 }).length
if (bytes > MAX_CORE_BYTES)
  throw new Error(`the core has ${bytes} bytes gzipped; ${MAX_CORE_BYTES} are allowed`)
console.error(`core: ${bytes} of ${MAX_CORE_BYTES} bytes gzipped`)
