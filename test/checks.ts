import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'

/**
 * `npm run check`: every script of package.json that is named `check:…`, the linter before all
 * others, and these as many at once as there are processors: most of them use only one. What a
 * check says is printed when it ends.
 */
const FIRST = 'check:lint'
/** In characters, because the report of many faults may be long. */
const MOST_OUTPUT = 64 * 1024 * 1024

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
const others = Object.keys(scripts).filter((name) => name.startsWith('check:') && name !== FIRST)

async function check(name: string) {
  const running = promisify(execFile)('npm', ['run', '--silent', name], {
    maxBuffer: MOST_OUTPUT,
    shell: process.platform === 'win32',
  })
  const { stdout, stderr } = await running.catch((failure) => {
    process.exitCode = 1
    return { stdout: failure.stdout, stderr: `${failure.stderr}${name} has failed\n` }
  })
  process.stdout.write(`${name}\n${stdout}`)
  process.stderr.write(stderr)
}

async function checkInTurn() {
  for (let name = others.shift(); name; name = others.shift()) await check(name)
}

await check(FIRST)
if (process.exitCode !== 1)
  await Promise.all(Array.from({ length: availableParallelism() }, checkInTurn))
