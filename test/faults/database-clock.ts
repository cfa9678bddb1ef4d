import { spawn } from 'node:child_process'
import { chownSync, closeSync, mkdirSync, openSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { recordedPostmaster } from '@parley/server/db/embedded/process'
import { until } from '../support/until.ts'
import { openClock } from './clock.ts'

/**
 * Runs a PostgreSQL that has ended again, with the command that it recorded and a clock that can be
 * set. A program that starts it later finds it running, and adopts it.
 */
export async function runWithClock(folder: string, library: string) {
  const directory = join(folder, 'postgres')
  const { uid, gid } = statSync(directory)
  const clock = openClock(join(folder, 'clock'), library)
  const command = readFileSync(join(directory, 'postmaster.opts'), 'utf8').trimEnd()
  // Each parameter is between quotation marks, which a value may contain.
  const [program = '', ...quoted] = command.split(' "')
  const parameters = quoted.map((parameter) => parameter.slice(0, -1))
  makeSocketFolder(parameters, { uid, gid })
  const log = openSync(join(folder, 'postgres.log'), 'a')
  const server = spawn(program, parameters, {
    cwd: '/',
    env: { LC_ALL: 'C', TZ: 'UTC', ...clock.environment },
    uid,
    gid,
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  server.unref()
  await until(() => recordedPostmaster(directory)?.pid === server.pid)
  return clock
}

/** The folder was removed with the server that has ended. */
function makeSocketFolder(parameters: string[], { uid, gid }: { uid: number; gid: number }) {
  const socket = parameters.find((parameter) => parameter.startsWith('unix_socket_directories='))
  const folder = socket?.split('"')[1]
  if (folder === undefined) return
  mkdirSync(folder, { mode: 0o700 })
  chownSync(folder, uid, gid)
}
