import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

// What is published, and what production runs: JavaScript beside its source maps, and the files
// that it reads. Types are checked by `npm run check:types`.
const here = import.meta.dirname
const dist = join(here, 'dist')
rmSync(dist, { recursive: true, force: true })
const require = createRequire(join(here, '../package.json'))
const tsc = join(require.resolve('typescript/package.json'), '../bin/tsc')
const project = join(here, 'tsconfig.build.json')
execFileSync(process.execPath, [tsc, '-p', project, '--noCheck'], { stdio: 'inherit' })
chmodSync(join(dist, 'bin/parley.js'), 0o755)

const copy = (file) => cpSync(join(here, file), join(dist, file))
copy('realtime/protocol/centrifuge.proto')
copy('db/migrations/meta/_journal.json')
const journal = JSON.parse(readFileSync(join(here, 'db/migrations/meta/_journal.json'), 'utf8'))
for (const { tag } of journal.entries) copy(`db/migrations/${tag}.sql`)

// The pages, bundled: a clone makes each at its first visit.
mkdirSync(join(dist, 'http'), { recursive: true })
const buildPage = join(here, '../client-sdk/build-page.js')
for (const page of ['playground', 'console', 'docs']) {
  const bundle = execFileSync(process.execPath, [buildPage, page], { maxBuffer: 2 ** 26 })
  writeFileSync(join(dist, `http/${page}.json`), bundle)
}
