import { join } from 'node:path'
import { build } from 'vite'

// The server runs this with the name of a page at its first visit. It prints the bundled files as
// JSON, by name.
const [page = ''] = process.argv.slice(2)
const result = await build({
  root: join(import.meta.dirname, '..', page),
  base: './',
  configFile: false,
  envDir: false,
  publicDir: false,
  logLevel: 'error',
  // Use the SDK's sources, not its last build.
  resolve: { conditions: ['parley-source', 'module', 'browser', 'production'] },
  oxc: { jsx: { runtime: 'automatic' } },
  build: { write: false, target: 'es2022', modulePreload: { polyfill: false } },
})
const files = result.output.map((file) => [
  file.fileName,
  file.type === 'chunk' ? file.code : file.source,
])
console.log(JSON.stringify(files))
