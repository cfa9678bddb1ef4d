import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import postgres from 'postgres'
import { runAs } from './account.ts'
import type { Address } from './address.ts'
import type { Cluster } from './cluster.ts'
import {
  isAlive,
  isPostmaster,
  isTaken,
  isWindows,
  recordedPostmaster,
  runningPostmaster,
} from './process.ts'

/** A running server. It ends when stopped, or is told to when our process exits. */
type Postmaster = { pid: number; stop(): Promise<void> }

/** The orphan that a killed process of ours has left, if it runs just as we would have it, else a new server. */
export const startPostmaster = async (cluster: Cluster) =>
  (await adopt(cluster)) ?? (await launch(cluster))

const adopt = async (cluster: Cluster) => {
  const running = runningPostmaster(cluster.directory)
  if (!running) return undefined
  const postmaster = keep(cluster, running.pid)
  if (isStartedAsWanted(cluster) && (await isServing(cluster, running.pid))) return postmaster
  await postmaster.stop()
  return undefined
}

const launch = async (cluster: Cluster, deadline = Date.now() + 10_000): Promise<Postmaster> => {
  forgetStranger(cluster.directory)
  cluster.address.open()
  const log = openLog(cluster.log)
  const postmaster = keep(cluster, await spawnServer(cluster, log.descriptor))
  try {
    await serving(cluster, postmaster.pid)
    return postmaster
  } catch (error) {
    await postmaster.stop()
    const lines = log.lastLines()
    // The sessions of a killed server end a moment after it.
    if (!lines.includes('shared memory block') || Date.now() > deadline)
      throw new Error(`PostgreSQL did not start; ${lines || error}`)
  }
  await delay(100)
  return launch(cluster, deadline)
}

/** A dead server's record is PostgreSQL's to clear; but it gives up if the pid is taken, by a stranger or by the dead. */
const forgetStranger = (directory: string) => {
  const recorded = recordedPostmaster(directory)
  if (recorded && isTaken(recorded.pid)) rmSync(join(directory, 'postmaster.pid'))
}

const spawnServer = async (cluster: Cluster, log: number) => {
  // In a process group of its own a terminal's Ctrl-C does not reach it: it must outlive our connections.
  const child = spawn(serverProgram(cluster), serverArguments(cluster), {
    ...runAs(cluster.account),
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  await once(child, 'spawn')
  child.unref()
  return child.pid ?? 0
}

const serverProgram = ({ binaries }: Cluster) => join(binaries, 'postgres')

const serverArguments = ({ directory, settings }: Cluster) => [
  '-D',
  directory,
  ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
]

/** PostgreSQL notes the command that started it: another socket, or fsync off, is not what we want. */
const isStartedAsWanted = (cluster: Cluster) => {
  const wanted = [
    realpathSync(serverProgram(cluster)),
    ...serverArguments(cluster).map((argument) => `"${argument}"`),
  ]
  return (
    readFileSync(join(cluster.directory, 'postmaster.opts'), 'utf8').trimEnd() === wanted.join(' ')
  )
}

const isServing = async (cluster: Cluster, pid: number) => {
  try {
    await serving(cluster, pid)
    return true
  } catch {
    return false
  }
}

/** Answers once the database does. It is made here and not with the files, so that a first start cut short is made good. */
const serving = async ({ directory, address }: Cluster, pid: number) => {
  await readiness(directory, pid)
  try {
    await execute(address, { database: 'parley', statement: 'select 1' })
  } catch (error) {
    const isMissing = error instanceof postgres.PostgresError && error.code === '3D000'
    if (!isMissing) throw error
    await execute(address, { database: 'postgres', statement: 'create database parley' })
  }
}

const readiness = async (directory: string, pid: number) => {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await delay(5)) {
    const recorded = recordedPostmaster(directory)
    if (recorded?.pid === pid && recorded.status === 'ready') return
    if (!isAlive(pid) || (recorded?.pid === pid && recorded.status === 'stopping'))
      throw new Error('the server has ended')
  }
  throw new Error('the server was not ready in time')
}

const execute = async (
  { connection }: Address,
  { database, statement }: { database: string; statement: string },
) => {
  const client = postgres({
    ...connection,
    database,
    max: 1,
    ssl: false,
    fetch_types: false,
    connect_timeout: 10,
  })
  try {
    await client.unsafe(statement)
  } finally {
    await client.end({ timeout: 1 })
  }
}

const keep = (cluster: Cluster, pid: number): Postmaster => {
  const server = { pid, ...cluster }
  const interrupt = () => {
    signal(server, 'INT')
    cluster.address.close()
  }
  process.on('exit', interrupt)
  const stop = async () => {
    await end(server)
    process.off('exit', interrupt)
    cluster.address.close()
  }
  return { pid, stop }
}

type Server = Pick<Cluster, 'directory' | 'binaries'> & { pid: number }

/** At first it may finish its writing; then it has to recover at its next start; then it is killed. */
const end = async (server: Server) => {
  if (!isPostmaster(server)) return
  for (const [name, patience] of Object.entries({ INT: 10_000, QUIT: 2_000, KILL: 1_000 })) {
    signal(server, name)
    for (const deadline = Date.now() + patience; Date.now() < deadline; await delay(5)) {
      // A child of ours is buried in this turn of the event loop: from then on its pid is free.
      if (!isAlive(server.pid)) return nextTurn()
    }
  }
  throw new Error(`PostgreSQL (process ${server.pid}) cannot be stopped`)
}

const signal = (server: Server, name: string) => {
  if (!isPostmaster(server)) return
  try {
    // Windows has no signals; PostgreSQL brings its own.
    if (isWindows) execFileSync(join(server.binaries, 'pg_ctl'), ['kill', name, String(server.pid)])
    else process.kill(server.pid, `SIG${name}`)
  } catch {
    // It has just ended.
  }
}

const openLog = (path: string) => {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const start = size > 10 * 1024 * 1024 ? 0 : size
  const descriptor = openSync(path, start === size ? 'a' : 'w', 0o600)
  const lastLines = () =>
    readFileSync(path).subarray(start).toString().trimEnd().split('\n').slice(-5).join('\n')
  return { descriptor, lastLines }
}
