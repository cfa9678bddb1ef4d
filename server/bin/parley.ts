#!/usr/bin/env node
import cluster from 'node:cluster'
import { noteSignals } from '../process/early-signals.ts'

/**
 * The program `parley`. It imports the rest only when Node.js is new enough: an old one would fail
 * with an error about something that it does not have.
 */
const OLDEST_NODE = [20, 19] as const

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const isTooOld = major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])
if (isTooOld) {
  console.error(
    `Parley needs Node.js ${OLDEST_NODE.join('.')} or newer, this is ${process.versions.node}`,
  )
  process.exitCode = 1
} else {
  // Other commands are interrupted, and so are worker processes, which have nothing to stop yet.
  const [command = 'start'] = process.argv.slice(2)
  if (cluster.isPrimary && ['start', 'worker'].includes(command)) noteSignals()
  // The sources themselves are run by a loader that maps their stacks.
  if (import.meta.url.endsWith('.js')) {
    const { showSources } = await import('../process/source-stacks.ts')
    showSources()
  }
  const { runCommand } = await import('../commands/index.ts')
  process.exitCode = await runCommand(process.argv.slice(2))
}
