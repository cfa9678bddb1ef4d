import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { build } from 'esbuild'

// Builds what is published and runs in production: JavaScript, its source maps, and the files that
// it reads. Types are checked by `npm run check:types`.
const here = import.meta.dirname
const dist = join(here, 'dist')
rmSync(dist, { recursive: true, force: true })

/** A module that reads files finds them beside the path that it would have on its own. */
const inItsFolder = {
  name: 'in-its-folder',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const ownPath = relative(here, path).replaceAll('\\', '/').replace(/ts$/, 'js')
      const url = `new URL('../${ownPath}', import.meta.url).href`
      const contents = readFileSync(path, 'utf8').replaceAll('import.meta.url', url)
      return { contents, loader: 'ts' }
    }),
}
// Few files, because most of a start is the search for modules. Packages stay outside: they are
// updated, and looked through for vulnerabilities, by those who installed them.
await build({
  absWorkingDir: here,
  entryPoints: ['bin/parley.ts'],
  outdir: dist,
  outbase: here,
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  packages: 'external',
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  sourcemap: true,
  plugins: [inItsFolder],
  logLevel: 'warning',
})
chmodSync(join(dist, 'bin/parley.js'), 0o755)

const copy = (file) => cpSync(join(here, file), join(dist, file))
copy('realtime/protocol/centrifuge.proto')
copy('db/migrations/meta/_journal.json')
const journal = JSON.parse(readFileSync(join(here, 'db/migrations/meta/_journal.json'), 'utf8'))
for (const { tag } of journal.entries) copy(`db/migrations/${tag}.sql`)

// The pages, bundled: a clone makes each at its first visit.
mkdirSync(join(dist, 'http'), { recursive: true })
const buildPage = join(here, '../client-sdk/scripts/build-page.js')
for (const page of ['playground', 'console', 'docs']) {
  const bundle = execFileSync(process.execPath, [buildPage, page], { maxBuffer: 2 ** 26 })
  writeFileSync(join(dist, `http/${page}.json`), bundle)
}
