import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import postgres from 'postgres'
import { spawnOptionsFor } from './account.ts'
import type { ServerAddress } from './address.ts'
import type { Cluster } from './cluster.ts'
import {
  isAlive,
  isPidTaken,
  isPostmaster,
  isWindows,
  recordedPostmaster,
  runningPostmaster,
} from './process.ts'
import { openLog } from './server-log.ts'

/** A running server. It ends when it is stopped, or after our process has exited. */
export type Postmaster = { pid: number; stop(): Promise<void> }

/**
 * Adopts the server that a killed process of ours left running, if it was started with the same
 * settings; otherwise starts a new one.
 */
export const startPostmaster = async (cluster: Cluster) =>
  (await adopt(cluster)) ?? (await launch(cluster))

const adopt = async (cluster: Cluster) => {
  const running = runningPostmaster(cluster.directory)
  if (!running) return undefined
  const postmaster = supervise(cluster, running.pid)
  if (hasSameCommand(cluster) && (await isServing(cluster, running.pid))) return postmaster
  await postmaster.stop()
  return undefined
}

const launch = async (
  cluster: Cluster,
  deadline = performance.now() + 10_000,
): Promise<Postmaster> => {
  removeForeignPid(cluster.directory)
  cluster.address.open()
  const log = openLog(cluster.log)
  const postmaster = supervise(cluster, await spawnServer(cluster, log.descriptor))
  try {
    await untilServing(cluster, postmaster.pid)
    return postmaster
  } catch (error) {
    await postmaster.stop()
    const lines = log.lastLines()
    // The sessions of a killed server end a moment after it: then it is worth trying again.
    const isRetryable = lines.includes('shared memory block')
    if (!isRetryable || performance.now() > deadline)
      throw new Error(`PostgreSQL did not start; ${lines || error}`)
  }
  await delay(100)
  return launch(cluster, deadline)
}

/**
 * Removes the pid file of a dead server if another process, or a zombie, has its pid by now:
 * PostgreSQL would refuse to start. In all other cases PostgreSQL removes the file itself.
 */
const removeForeignPid = (directory: string) => {
  const recorded = recordedPostmaster(directory)
  if (recorded && isPidTaken(recorded.pid)) rmSync(join(directory, 'postmaster.pid'))
}

const spawnServer = async (cluster: Cluster, log: number) => {
  // In a process group of its own, so that a terminal's Ctrl-C does not reach it: the server must
  // outlive our connections.
  const child = spawn(serverProgram(cluster), serverArguments(cluster), {
    ...spawnOptionsFor(cluster.account),
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

/**
 * PostgreSQL records the command that started it. A server with another socket, or with fsync off,
 * is not adopted.
 */
const hasSameCommand = (cluster: Cluster) => {
  const recorded = readFileSync(join(cluster.directory, 'postmaster.opts'), 'utf8').trimEnd()
  const quotedArguments = serverArguments(cluster).map((argument) => `"${argument}"`)
  return recorded === [realpathSync(serverProgram(cluster)), ...quotedArguments].join(' ')
}

const isServing = async (cluster: Cluster, pid: number) => {
  try {
    await untilServing(cluster, pid)
    return true
  } catch {
    return false
  }
}

/**
 * Resolves when the database answers. The database is created here rather than with the files, so
 * that a first start that was interrupted is completed by the next one.
 */
const untilServing = async ({ directory, address }: Cluster, pid: number) => {
  await untilReady(directory, pid)
  try {
    await execute(address, { database: 'parley', statement: 'select 1' })
  } catch (error) {
    const isMissing = error instanceof postgres.PostgresError && error.code === '3D000'
    if (!isMissing) throw error
    await execute(address, { database: 'postgres', statement: 'create database parley' })
  }
}

const untilReady = async (directory: string, pid: number) => {
  const deadline = performance.now() + 60_000
  while (performance.now() < deadline) {
    const recorded = recordedPostmaster(directory)
    const status = recorded?.pid === pid ? recorded.status : undefined
    if (status === 'ready') return
    if (!isAlive(pid) || status === 'stopping') throw new Error('the server has ended')
    await delay(5)
  }
  throw new Error('the server was not ready in time')
}

const execute = async (
  { connection }: ServerAddress,
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

/** Ties the server to this process: it is interrupted when the process exits. */
const supervise = (cluster: Cluster, pid: number): Postmaster => {
  const server = { pid, ...cluster }
  const interrupt = () => {
    sendSignal(server, 'INT')
    cluster.address.close()
  }
  process.on('exit', interrupt)
  const stop = async () => {
    await terminate(server)
    process.off('exit', interrupt)
    cluster.address.close()
  }
  return { pid, stop }
}

type ServerProcess = Pick<Cluster, 'directory' | 'binaries'> & { pid: number }

/** After INT the server finishes writing; after QUIT it has to recover when it starts next. */
const terminate = async (server: ServerProcess) => {
  if (!isPostmaster(server)) return
  for (const [name, timeout] of Object.entries({ INT: 10_000, QUIT: 2_000, KILL: 1_000 })) {
    sendSignal(server, name)
    if (await hasEndedWithin(timeout, server.pid)) return
  }
  throw new Error(`PostgreSQL (process ${server.pid}) cannot be stopped`)
}

const hasEndedWithin = async (timeout: number, pid: number) => {
  const deadline = performance.now() + timeout
  while (performance.now() < deadline) {
    if (!isAlive(pid)) {
      // Node reaps a child of ours in this turn of the event loop; after that its pid is free.
      await nextTurn()
      return true
    }
    await delay(5)
  }
  return false
}

const sendSignal = (server: ServerProcess, name: string) => {
  if (!isPostmaster(server)) return
  try {
    // Windows has no signals; PostgreSQL emulates them.
    if (isWindows) execFileSync(join(server.binaries, 'pg_ctl'), ['kill', name, String(server.pid)])
    else process.kill(server.pid, `SIG${name}`)
  } catch {
    // It has just ended.
  }
}
