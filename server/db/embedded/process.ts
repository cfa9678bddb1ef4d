import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const isWindows = process.platform === 'win32'
const isLinux = process.platform === 'linux'

/** A zombie counts as dead: if its parent never reaps it, it would hold its lock forever. */
export const isAlive = (pid: number) => isPidTaken(pid) && statusOf(pid)?.state !== 'Z'

/** Whether the pid belongs to a process, dead (a zombie) or alive. */
export const isPidTaken = (pid: number) => {
  if (!(pid > 0)) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/** Distinguishes processes that have had the same pid. Empty if the system does not provide it. */
export const startTimeOf = (pid: number) => {
  const status = statusOf(pid)
  if (!status) return ''
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return `${bootId}/${status.startTicks}`
}

/** The server that runs on the directory, if the one recorded there is alive. */
export const runningPostmaster = (directory: string) => {
  const recorded = recordedPostmaster(directory)
  return recorded && isPostmaster({ pid: recorded.pid, directory }) ? recorded : undefined
}

/** Whether the process is the server of this directory, rather than another one with its pid. */
export const isPostmaster = ({ pid, directory }: { pid: number; directory: string }) =>
  isAlive(pid) && commandLine(pid).includes(isWindows ? 'postgres.exe' : ` -D ${directory} `)

/** The content of the server's pid file, which is left behind when a server is killed. */
export const recordedPostmaster = (directory: string) => {
  try {
    const lines = readFileSync(join(directory, 'postmaster.pid'), 'utf8').split('\n')
    const [pid, , , port, , , , status = ''] = lines
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
    // The program's name comes first, in brackets, and may contain spaces and brackets itself.
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0], startTicks: fields[19] }
  } catch {
    return undefined
  }
}
