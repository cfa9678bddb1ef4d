import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { createLogOutput } from '@parley/server/core/log-output'
import { expect, onTestFinished, test } from 'vitest'
import { until } from './support/until.ts'

/** A pipe that holds little, and is never waited for. */
function openPipe() {
  const folder = mkdtempSync(join(tmpdir(), 'parley-log-'))
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  onTestFinished(() => {
    closeSync(pipe)
    rmSync(folder, { recursive: true })
  })
  return pipe
}

/** Reads the text that the pipe holds now. */
function read(pipe: number) {
  const chunk = Buffer.alloc(1024 * 1024)
  try {
    return chunk.toString('utf8', 0, readSync(pipe, chunk))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return '' // of readSync
    throw error
  }
}

test.skipIf(process.platform === 'win32')(
  'a megabyte of log lines that cannot be written waits, and the rest are counted',
  async () => {
    const pipe = openPipe()
    const output = createLogOutput(pipe)
    const lineOf = (n: number) => `${String(n).padStart(1023, '.')}\n`
    const COUNT = 3_000
    for (const _ of ['first', 'second']) {
      for (let n = 0; n < COUNT; n++) output.write(lineOf(n))
      let text = ''
      const last = await until(() => {
        text += read(pipe)
        return /\{.+\}\n$/.exec(text)?.[0]
      })
      const kept = text.slice(0, -last.length)
      const count = kept.length / 1024
      expect(count).toBeGreaterThanOrEqual(1024)
      expect(kept).toBe(Array.from({ length: count }, (_, n) => lineOf(n)).join(''))
      expect(JSON.parse(last)).toMatchObject({ level: 'warn', lines: COUNT - count })
    }
    output.write('once more\n')
    await until(() => read(pipe) === 'once more\n')
  },
)

test.skipIf(process.platform === 'win32')(
  'a process that ends waits until its lines are written, if they are read',
  async () => {
    const pipe = openPipe()
    const output = createLogOutput(pipe)
    const long = `${'1'.repeat(200_000)}\n`
    output.write(long)
    output.write('last\n')
    // The pipe is not read.
    await output.close()
    output.write('too late\n')
    let text = ''
    const reading = until(() => {
      text += read(pipe)
      return text.endsWith('last\n')
    })
    await output.close()
    output.end()
    await reading
    expect(text).toBe(`${long}last\n`)
  },
)

/**
 * Stops at once after a line that is longer than a pipe, and says so to its parent, while its start
 * goes on.
 */
const STOPPING = `
  import { createLog } from '@parley/server/core/log-output'
  import { runProcess } from '@parley/server/process/lifecycle'
  const log = createLog('info')
  runProcess({
    start: async (stop) => {
      log.info('x'.repeat(900_000))
      stop()
    },
    stopFunctions: [],
    onStopped: () => {
      log.info('stopped')
      process.send('stopped')
      setImmediate(() => log.info('too late'))
    },
  })`

test.skipIf(process.platform === 'win32')(
  'a stopping process whose log is read late writes all lines, that of its stop last',
  async () => {
    const flags = ['--conditions=parley-source', '--import', 'tsx', '--input-type=module']
    const child = spawn(process.execPath, [...flags, '-e', STOPPING], {
      cwd: import.meta.dirname,
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const { stdout } = child
    if (!stdout) throw new Error('its output is a pipe')
    await once(child, 'message')
    const lines = (await textOf(stdout)).trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line).msg.length)).toEqual([900_000, 'stopped'.length])
  },
)
