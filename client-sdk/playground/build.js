import { build } from 'vite'

// Run by the server when the playground is first asked for: tells its files, by name.
const result = await build({
  root: import.meta.dirname,
  base: './',
  configFile: false,
  envDir: false,
  publicDir: false,
  logLevel: 'error',
  // The sources of the SDK, not what was last built of it.
  resolve: { conditions: ['parley-source', 'module', 'browser', 'production'] },
  oxc: { jsx: { runtime: 'automatic' } },
  build: { write: false, target: 'es2022', modulePreload: { polyfill: false } },
})
console.log(JSON.stringify(result.output.map((file) => [file.fileName, file.type === 'chunk' ? file.code : file.source])))
