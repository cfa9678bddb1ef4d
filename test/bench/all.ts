import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { parseArgs } from 'node:util'

/**
 * Runs the benchmarks one after the other, each with the options that it knows. Their progress is
 * shown while they run, and their tables together at the end; with `--json` as one object, by the
 * names of the programs. One that fails costs no other its figures.
 */
const ofRequests = ['connections', 'rounds', 'seconds', 'only', 'profile', 'workers', 'smoke']
const PROGRAMS: Record<string, string[]> = {
  send: ofRequests,
  read: ofRequests,
  connect: ['sockets', 'profile', 'smoke'],
  fanout: ['workers', 'smoke'],
  cluster: ['nodes', 'sockets', 'redis', 'smoke'],
  push: [],
  rooms: ['smoke'],
}
const { values: given } = parseArgs({
  options: {
    connections: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    only: { type: 'string' },
    sockets: { type: 'string' },
    workers: { type: 'string' },
    nodes: { type: 'string' },
    redis: { type: 'boolean' },
    profile: { type: 'string' },
    smoke: { type: 'boolean' },
    json: { type: 'boolean' },
    programs: { type: 'string', default: Object.keys(PROGRAMS).join(',') },
  },
})
const results: Record<string, string> = {}

for (const name of given.programs.split(',')) {
  process.stderr.write(`\n${name}\n`)
  const known = [...(PROGRAMS[name] ?? []), 'json']
  const args = Object.entries(given)
    .filter(([option]) => known.includes(option))
    .map(([option, value]) => (value === true ? `--${option}` : `--${option}=${value}`))
  const child = spawn('npm', ['run', '--silent', `bench:${name}`, '--', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  let output = ''
  for await (const text of child.stdout.setEncoding('utf8')) output += text
  const [code] = await exited
  if (code !== 0) process.exitCode = 1
  results[name] = output
}
if (given.json) {
  const figures = Object.entries(results).map(([name, output]) => [name, figuresIn(output)])
  console.log(JSON.stringify(Object.fromEntries(figures), null, 2))
} else {
  for (const [name, output] of Object.entries(results)) console.log(`\n${name}\n${output}`)
}

/** Null of a program that has failed before it printed them. */
function figuresIn(output: string) {
  try {
    return JSON.parse(output)
  } catch {
    return null
  }
}
