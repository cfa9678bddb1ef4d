import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const isWindows = process.platform === 'win32'
const isLinux = process.platform === 'linux'

/** A zombie is dead: where nobody buries it, it would hold its lock for ever. */
export const isAlive = (pid: number) => isTaken(pid) && statusOf(pid)?.state !== 'Z'

/** Whether the system has given the pid to something, be it dead. */
export const isTaken = (pid: number) => {
  if (!(pid > 0)) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/** Tells a process from another that has had the same pid; empty where the system does not say. */
export const birthOf = (pid: number) => {
  const status = statusOf(pid)
  return status
    ? `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${status.startTicks}`
    : ''
}

/** The server that runs on the directory, by what that says about it. */
export const runningPostmaster = (directory: string) => {
  const recorded = recordedPostmaster(directory)
  return recorded && isPostmaster({ pid: recorded.pid, directory }) ? recorded : undefined
}

/** Whether the process is the server of this directory, and not one that has got its pid. */
export const isPostmaster = ({ pid, directory }: { pid: number; directory: string }) =>
  isAlive(pid) && commandLine(pid).includes(isWindows ? 'postgres.exe' : ` -D ${directory} `)

export const recordedPostmaster = (directory: string) => {
  try {
    const [pid, , , port, , , , status = ''] = readFileSync(
      join(directory, 'postmaster.pid'),
      'utf8',
    ).split('\n')
    return { pid: Number(pid), port: Number(port), status: status.trim() }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

export const codeOf = (error: unknown) =>
  error instanceof Error && 'code' in error ? error.code : undefined

const commandLine = (pid: number) => {
  try {
    if (isLinux) return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    if (isWindows)
      return execFileSync('tasklist', ['/NH', '/FI', `PID eq ${pid}`], { encoding: 'utf8' })
    return execFileSync('ps', ['-ww', '-o', 'args=', '-p', String(pid)], { encoding: 'utf8' })
  } catch {
    return ''
  }
}

const statusOf = (pid: number) => {
  if (!isLinux) return undefined
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The program's name comes before, in brackets, and may hold spaces and brackets itself.
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0], startTicks: fields[19] }
  } catch {
    return undefined
  }
}
