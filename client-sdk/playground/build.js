import { parentPort } from 'node:worker_threads'
import { build } from 'vite'

// Run as a thread by the server when the playground is first asked for: answers with its files, by name.
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
parentPort?.postMessage(new Map(result.output.map((file) => [file.fileName, file.type === 'chunk' ? file.code : file.source])))
