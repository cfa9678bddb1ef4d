import { spawnSync } from 'node:child_process'
import { errorMessage } from '@parley/server/process/lifecycle'
import { expect, test } from 'vitest'
import { root } from './support/consumer.ts'

/** Runs a process of ours with this body: what it says, and its exit code. */
function run(options: string) {
  const program = `import { runProcess } from './server/process/lifecycle.ts'
    const say = (text) => void console.log(text)
    const stopFunctions = []
    runProcess({ stopFunctions, ${options} })`
  const { stdout, status } = spawnSync(
    process.execPath,
    ['--conditions=parley-source', '--import', 'tsx', '--input-type=module', '-e', program],
    { cwd: root, encoding: 'utf8' },
  )
  const lines = stdout.trim().split('\n')
  return { said: lines.filter((line) => !line.startsWith('{')), status }
}

test('a start that fails stops what was started, the last first, and fails the process', () => {
  const ended = run(`
    start: async () => {
      stopFunctions.push(async () => say('database'))
      stopFunctions.push(async () => { throw new Error('cannot stop') })
      stopFunctions.push(async () => say('jobs'))
      throw new Error('port taken')
    },
    beforeStop: async () => say('goes on'),`)
  expect(ended).toEqual({ said: ['jobs', 'database'], status: 1 })
})

test('a process that gives up says why in its last line, after all that stopping says', () => {
  const ended = run(`
    start: async (stop) => {
      stopFunctions.push(async () => say('database'))
      stopFunctions.push(async () => say('jobs'))
      console.error = console.log
      stop(3, 'the database is lost')
    },`)
  expect(ended).toEqual({ said: ['jobs', 'database', 'the database is lost'], status: 3 })
})

test('a process that gets SIGHUP goes on if it handles it, and stops in good order if not', () => {
  const ended = run(`
    start: async () => {
      // As an open server keeps the process running.
      setInterval(() => {}, 60_000)
      stopFunctions.push(async () => say('stopped'))
      process.kill(process.pid, 'SIGHUP')
    },
    beforeStop: async () => say('goes on'),
    onHangup: () => {
      if (globalThis.isHungUp) return undefined
      globalThis.isHungUp = true
      return () => {
        say('reads again')
        setImmediate(() => {
          say('still runs')
          process.kill(process.pid, 'SIGHUP')
        })
      }
    },`)
  expect(ended).toEqual({ said: ['reads again', 'still runs', 'goes on', 'stopped'], status: 0 })
})

test('a process in which something does not stop ends by itself', () => {
  const ended = run(`
    start: async (stop) => {
      // As an open server keeps the process running.
      setInterval(() => {}, 60_000)
      stopFunctions.push(() => new Promise(() => {}))
      const { setTimeout: later } = globalThis
      globalThis.setTimeout = (giveUp, ms) => {
        say('after ' + ms + ' ms')
        return later(giveUp, 1)
      }
      console.warn = say
      stop()
    },`)
  const warning = 'Warning: not stopped within 13 s: the process ends'
  expect(ended).toEqual({ said: ['after 13000 ms', warning], status: 0 })
})

test('a second signal to a process that is stopping does not cut that short', () => {
  const ended = run(`
    start: async (stop) => {
      // As an open server keeps the process running.
      setInterval(() => {}, 60_000)
      stopFunctions.push(async () => {
        await new Promise((resolve) => process.once('SIGTERM', () => setImmediate(resolve)))
        say('stopped')
      })
      stop()
      process.kill(process.pid, 'SIGTERM')
    },`)
  expect(ended).toEqual({ said: ['stopped'], status: 0 })
})

test('an error is named by its cause, and several addresses by the first of them', () => {
  const refused = new AggregateError([new Error('refused\n  by v6'), new Error('by v4')], '')
  expect(errorMessage(refused)).toBe('refused by v6')
  expect(errorMessage(new Error('start failed', { cause: refused }))).toBe('refused by v6')
  expect(errorMessage(new AggregateError([new Error('one')], 'both failed'))).toBe('both failed')
  expect(errorMessage('text')).toBe('text')
})
