import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

type Options = {
  name: string
  command: 'start' | 'worker'
  /** The folder of the bundled programs. */
  programs: string
  cwd: string
  environment: Record<string, string>
  onDeath: (line: string) => void
}

const SERVING = /"Server listening at (\S+?)"|"worker started"/
const START_MS = 60_000
const TAIL = 4_000
const WARNINGS = 200

/** A command of `parley` that is started, stopped, killed and started again. */
export function createProgram({ name, command, programs, cwd, environment, onDeath }: Options) {
  let child: ChildProcess | undefined
  let isEnding = false
  const warnings: string[] = []
  const end = async (signal: NodeJS.Signals) => {
    if (!child) return
    isEnding = true
    const exited = once(child, 'exit')
    child.kill(signal)
    const [code] = await exited
    if (signal === 'SIGTERM' && code !== 0) onDeath(`${name} stopped with exit code ${code}`)
  }
  /** Resolves with the address on which it listens. */
  const start = async () => {
    isEnding = false
    const current = spawn(process.execPath, [join(programs, 'parley.mjs'), command], {
      cwd,
      env: { PATH: process.env.PATH, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child = current
    let output = ''
    const exit = once(current, 'exit').then(([code, signal]) => {
      child = undefined
      if (!isEnding) onDeath(`${name} ended by itself (${signal ?? code}): ${output}`)
    })
    return new Promise<string>((resolve, reject) => {
      const fail = () => reject(new Error(`${name} did not start: ${output}`))
      const timer = setTimeout(fail, START_MS)
      void exit.then(fail)
      for (const stream of [current.stdout, current.stderr])
        stream.on('data', (data) => {
          output = (output + data).slice(-TAIL)
          warnings.push(...String(data).split('\n').filter(isWarning))
          warnings.splice(0, warnings.length - WARNINGS)
          const [isServing, address = ''] = SERVING.exec(output) ?? []
          if (!isServing) return
          clearTimeout(timer)
          resolve(address)
        })
    })
  }
  return {
    name,
    start,
    end,
    /** The last warnings and errors that it logged. */
    warnings,
    isRunning: () => child !== undefined && !isEnding,
    pause: () => child?.kill('SIGSTOP'),
    proceed: () => child?.kill('SIGCONT'),
  }
}

const isWarning = (line: string) => /"level":"(warn|error|fatal)"/.test(line)
