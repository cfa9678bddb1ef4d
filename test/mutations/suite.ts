import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { slowness } from '../support/slowness.ts'

/** A test that takes longer has failed, since all tests take less than 5 s. */
const TEST_TIMEOUT_MS = 40_000 * slowness
/** A run that takes longer hangs outside of its tests, in a loop perhaps, and is killed. */
const SECONDS_PER_FILE = 60 * slowness
const RUNS_PER_HOST = 8

/** A host bundles the programs once, with the defect that is planted when it starts. */
const PROGRAM = /support\/start\.ts'|\bstartWorker\b/
const startsPrograms = (file: string) =>
  file.includes('/embedded/') || PROGRAM.test(readFileSync(file, 'utf8'))

export type SuiteRequest = { tests: string[]; changed: string[] }
/** `error`: the tests did not run, which proves nothing. */
export type Verdict = { outcome: 'green' | 'red' | 'timeout' | 'error'; by: string }

/** Runs test files in a copy of the project, each time up to the first failure. */
export function createSuite(tree: string, databaseUrl: string) {
  const temporary = join(tree, '.run')
  mkdirSync(temporary, { mode: 0o755 })
  let host: ChildProcess | undefined
  let runs = 0

  const start = () => {
    const program = join(tree, 'test/mutations/host.ts')
    return spawn(
      process.execPath,
      ['--conditions=parley-source', '--import', 'tsx', program, String(TEST_TIMEOUT_MS)],
      {
        cwd: tree,
        // Temporary files of the tests are removed together with the copy.
        env: { ...process.env, DATABASE_URL: databaseUrl, TMPDIR: temporary },
        detached: true, // a process group, so that it can be killed as a whole
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      },
    )
  }
  const stop = () => {
    try {
      if (host?.pid) process.kill(-host.pid, 'SIGKILL')
    } catch {
      // It has ended.
    }
    host = undefined
  }
  const run = async (request: SuiteRequest): Promise<Verdict> => {
    const isInServer = request.changed.some((file) => /^(server|contract)\//.test(file))
    const tests = request.tests.map((file) => join(tree, file))
    const needsOwnHost = isInServer && tests.some(startsPrograms)
    if (needsOwnHost) stop()
    const verdict = await attempt(request)
    runs += 1
    // Tests that were cut off leave processes and connections behind, which end with the host.
    const isUsedUp = verdict.outcome === 'timeout' || runs % RUNS_PER_HOST === 0
    if (needsOwnHost || isUsedUp) stop()
    if (verdict.outcome !== 'error') return verdict
    stop()
    return attempt(request)
  }
  const attempt = async (request: SuiteRequest): Promise<Verdict> => {
    host ??= start()
    host.send(request)
    const over = new AbortController()
    const { signal } = over
    const seconds = SECONDS_PER_FILE * (1 + request.tests.length)
    const timer = setTimeout(() => over.abort(), 1000 * seconds)
    const message = once(host, 'message', { signal })
    const answer = message.then(([verdict]) => verdict as Verdict) // as host.ts sends it
    const failure = once(host, 'exit', { signal }).then(
      ([code]): Verdict => ({ outcome: 'error', by: `the run exited with ${code}` }),
      (): Verdict => ({ outcome: 'timeout', by: `killed after ${seconds} s` }),
    )
    const verdict = await Promise.race([answer.catch(() => failure), failure])
    clearTimeout(timer)
    over.abort()
    return verdict
  }
  return { run, stop }
}
