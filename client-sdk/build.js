import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { slimTransport } from './transport.js'

// What is published: three entries that share their code, with the transport inside, and their types.
const here = import.meta.dirname
const dist = join(here, 'dist')
rmSync(dist, { recursive: true, force: true })
await build({
  absWorkingDir: here,
  entryPoints: { index: 'index.ts', react: 'react/index.ts', server: 'server.ts', websocket: 'websocket.ts', 'websocket.node': 'websocket.node.ts' },
  outdir: dist,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'neutral',
  target: 'es2022',
  mainFields: ['module', 'main'],
  plugins: [slimTransport],
  external: ['react', 'ws', '#websocket'],
  // The transport's own fields, whose long names nobody needs: a tenth of its size.
  mangleProps: /^_/,
  minifySyntax: true,
  legalComments: 'inline',
})
const tsc = join(createRequire(join(here, '../package.json')).resolve('typescript/package.json'), '../bin/tsc')
execFileSync(process.execPath, [tsc, '-p', join(here, 'tsconfig.build.json')], { stdio: 'inherit' })

// What a browser loads for the core, its transport included.
const core = await build({ entryPoints: [join(dist, 'index.js')], bundle: true, minify: true, format: 'esm', write: false, external: ['#websocket'] })
const bytes = gzipSync(core.outputFiles[0].contents, { level: 9 }).length
if (bytes > 30_000) throw new Error(`the core has ${bytes} bytes gzipped; 30,000 are allowed`)
console.error(`core: ${bytes} bytes gzipped`)
