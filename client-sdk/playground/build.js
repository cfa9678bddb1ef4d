import { build } from 'vite'

// The server runs this at the first visit. It prints the bundled files as JSON, by name.
const result = await build({
  root: import.meta.dirname,
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
