import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '@parley/server/commands/index'
import { expect, onTestFinished, test, vi } from 'vitest'
import { root } from './support/consumer.ts'
import { tsx } from './support/embedded.ts'
import { bundled, useChildren } from './support/start.ts'

const { start } = useChildren()

/** Runs a command of `parley` in this process: its exit code, and the lines that it printed. */
async function parley(...args: string[]) {
  const lines: string[] = []
  const print = (line: string) => void lines.push(line)
  const spies = [console, console].map((target, index) =>
    vi.spyOn(target, index === 0 ? 'log' : 'error').mockImplementation(print),
  )
  const code = await runCommand(args).finally(() => {
    for (const spy of spies) spy.mockRestore()
  })
  return { code, output: lines.join('\n') }
}

const names = [
  ...['start', 'migrate', 'grant', 'check', 'worker', 'new-epoch', 'setup-push'],
  ...['import', 'convert', 'app:export', 'app:import', 'app:discard', 'openapi'],
]

test('parley --help lists every command, and each command has a help of its own', async () => {
  const overview = await parley('--help')
  expect(overview.code).toBe(0)
  const listed = [...overview.output.matchAll(/^ {2}([a-z:-]+) {2,}\S/gm)]
  expect(listed.map(([, name]) => name)).toEqual(names)
  for (const name of names) {
    const { code, output } = await parley(name, '--help')
    expect(code).toBe(0)
    expect(output).toMatch(new RegExp(`^Usage: parley ${name}( |\\n)`))
    expect(output).toContain('--help')
    expect(await parley('help', name)).toEqual({ code, output })
  }
  expect(await parley('help')).toEqual(overview)
  expect((await parley('help', 'strat')).output).toMatch(/^parley: unknown command "strat"/)
})

test('the scripts of the repository that are named after commands run these', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const named = names.filter((name) => name in scripts && name !== 'check')
  expect(named).toEqual([
    ...['start', 'worker', 'new-epoch', 'import', 'app:export', 'app:import'],
    'openapi',
  ])
  for (const name of named) expect(scripts[name]).toMatch(new RegExp(`bin/parley\\.ts ${name}$`))
})

test('unknown commands and options are refused in one line that says where to look', async () => {
  const cases: [string[], string][] = [
    [['strat'], 'parley: unknown command "strat". See: parley --help'],
    [['constructor'], 'parley: unknown command "constructor". See: parley --help'],
    [['--verbose'], 'parley: unknown option --verbose. See: parley start --help'],
    [['migrate', '--down'], 'parley: unknown option --down. See: parley migrate --help'],
    [['check', 'now'], 'parley: unexpected argument "now". See: parley check --help'],
    [['openapi', '--check=no'], 'parley: --check takes no value. See: parley openapi --help'],
    [['import'], 'parley: expected <file>. See: parley import --help'],
    [['import', 'a.jsonl'], 'parley: expected --app. See: parley import --help'],
    [['import', 'a', '--app'], 'parley: --app takes a value. See: parley import --help'],
    [['openapi', 'a', 'b'], 'parley: unexpected argument "b". See: parley openapi --help'],
  ]
  for (const [args, output] of cases) expect(await parley(...args)).toEqual({ code: 1, output })
})

test('parley openapi writes the documents, and --check says which are out of date', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-openapi-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  expect(await parley('openapi', folder, '--check')).toEqual({
    code: 1,
    output: 'openapi.json, asyncapi.json: out of date. Run: parley openapi',
  })
  const missing = join(folder, 'missing')
  for (const option of [[], ['--check']])
    expect(await parley('openapi', missing, ...option)).toEqual({
      code: 1,
      output: `${missing}: no such folder`,
    })
  expect(await parley('openapi', folder)).toEqual({ code: 0, output: '' })
  for (const name of ['openapi.json', 'asyncapi.json'])
    expect(readFileSync(join(folder, name), 'utf8')).toBe(readFileSync(join(root, name), 'utf8'))
})

test('a malformed package.json in the current folder ends a command with one line', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-folder-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'package.json'), '{')
  // A bundle would load graphile-worker in another way.
  const source = ['--conditions=parley-source', '--import', tsx, join(root, 'server/bin/parley.ts')]
  const checked = start({}, folder, [...source, 'check'])
  expect(await checked.code).toBe(1)
  expect(checked.output()).toMatch(
    /^graphile-worker, which .*, cannot be loaded: JSON Error in \S+\/package\.json: .*\n$/,
  )
})

test('the program prints its version, or the version of Node.js that it needs', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'server/package.json'), 'utf8'))
  expect(await program([])).toEqual({ code: 0, output: `${version}\n` })
  await expectOldRefused(bundled('--version'))
})

test('npm start in a clone on an older Node.js prints the version that is needed', async () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const [command, file = ''] = scripts.prestart.split(' ')
  expect(command).toBe('node')
  await expectOldRefused([join(root, file)])
})

async function expectOldRefused(run: string[]) {
  for (const [older, code] of [
    ['14.21.3', 1],
    ['18.20.8', 1],
    ['20.18.3', 1],
    ['20.19.0', 0],
    ['22.0.0', 0],
  ] as const) {
    const pretend = `Object.defineProperty(process.versions, 'node', { value: '${older}' })`
    const { output, ...exit } = await program(['--import', `data:text/javascript,${pretend}`], run)
    expect(exit).toEqual({ code })
    if (code === 1) expect(output).toBe(`Parley needs Node.js 20.19 or newer, this is ${older}\n`)
  }
}

/** Runs `parley --version`, or another file, in a process of its own. */
const program = (options: string[], run = bundled('--version')) =>
  new Promise<{ code: number; output: string }>((resolve) => {
    const args = [...options, ...run]
    execFile(process.execPath, args, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : 0
      resolve({ code, output: stdout + stderr })
    })
  })
