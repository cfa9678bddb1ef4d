import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Runs the benchmarks one after the other. Their progress is shown while they run, and their tables
 * together at the end; with `--json` as one object, by the names of the programs.
 */
const PROGRAMS = ['send', 'read', 'connect', 'fanout', 'push', 'rooms']
const isJson = process.argv.includes('--json')
const results: Record<string, string> = {}

for (const name of PROGRAMS) {
  process.stderr.write(`\n${name}\n`)
  const child = spawn('npm', ['run', '--silent', `bench:${name}`, '--', ...process.argv.slice(2)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  let output = ''
  for await (const text of child.stdout.setEncoding('utf8')) output += text
  const [code] = await exited
  if (code !== 0) process.exitCode = 1
  results[name] = output
}
if (isJson) {
  const figures = Object.entries(results).map(([name, output]) => [name, JSON.parse(output)])
  console.log(JSON.stringify(Object.fromEntries(figures), null, 2))
} else {
  for (const [name, output] of Object.entries(results)) console.log(`\n${name}\n${output}`)
}
