import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

// `npm run pack -- FOLDER`: builds the packages, and puts them there as they are published, which
// is without the condition by which a clone finds TypeScript: packages have no sources. npm would
// pack `package.json` as it is, and changing it there would break what runs in the clone meanwhile.
const { values, positionals } = parseArgs({
  options: {
    'ignore-scripts': { type: 'boolean', default: false },
    // What npm says of each, with its files, for programs.
    json: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const [given, ...named] = positionals
if (given === undefined) {
  console.error('Name a folder for the packages: npm run pack -- FOLDER')
  process.exit(1)
}
const workspaces = named.length > 0 ? named : ['contract', 'client-sdk', 'server']
const folder = resolve(given)
mkdirSync(folder, { recursive: true })
const packed = workspaces.map(pack)
if (values.json) console.log(JSON.stringify(packed))
else for (const { filename } of packed) console.log(join(folder, filename))

function pack(workspace) {
  const temporary = mkdtempSync(join(tmpdir(), 'parley-pack-'))
  const scripts = `--ignore-scripts=${values['ignore-scripts']}`
  npm(import.meta.dirname, '--workspace', workspace, '--pack-destination', temporary, scripts)
  const [archive] = readdirSync(temporary)
  execFileSync('tar', ['-xzf', archive], { cwd: temporary })
  const content = join(temporary, 'package')
  const file = join(content, 'package.json')
  const { exports, imports, ...manifest } = JSON.parse(readFileSync(file, 'utf8'))
  const published = { ...manifest, ...withoutSources({ exports, imports }) }
  writeFileSync(file, `${JSON.stringify(published, null, 2)}\n`)
  const described = npm(content, '--pack-destination', folder, '--ignore-scripts', '--json')
  rmSync(temporary, { recursive: true })
  return JSON.parse(described)[0]
}

function npm(cwd, ...args) {
  const options = { cwd, shell: process.platform === 'win32', stdio: ['ignore', 'pipe', 'inherit'] }
  return execFileSync('npm', ['pack', '--loglevel=warn', ...args], options).toString()
}

/** Of `exports` and `imports`, what is left: without what had nothing but sources. */
function withoutSources(targets) {
  if (typeof targets !== 'object') return targets
  const left = Object.entries(targets)
    .filter(([name, target]) => name !== 'parley-source' && target !== undefined)
    .map(([name, target]) => [name, withoutSources(target)])
    .filter(([, target]) => typeof target !== 'object' || Object.keys(target).length > 0)
  return Object.fromEntries(left)
}
