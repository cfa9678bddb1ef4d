import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, isAlive, startTimeOf } from './process.ts'

/**
 * Makes this process the only owner of the directory, until the process ends or calls the returned
 * function.
 */
export const lockDirectory = (directory: string) => {
  const path = lockIn(directory)
  const ticket = `${path}.${randomUUID()}`
  writeFileSync(ticket, `${process.pid} ${startTimeOf(process.pid)}\n`)
  try {
    acquire(path, ticket)
  } catch (error) {
    throw error instanceof LockHeldError ? inUse(directory, error.pid) : error
  } finally {
    rmSync(ticket)
  }
  const release = () => {
    process.off('exit', release)
    rmSync(path, { force: true })
  }
  process.on('exit', release)
  return release
}

/** Throws if another process owns the directory. It locks nothing. */
export const requireUnlocked = (directory: string) => {
  const holder = readHolder(lockIn(directory))
  if (holder && isRunning(holder)) throw inUse(directory, holder.pid)
}

const lockIn = (directory: string) => join(directory, 'parley.lock')
const inUse = (directory: string, pid: number) =>
  new InUseError(`DATA_DIR: ${directory} is in use by process ${pid}`)

/** Another process owns the directory. */
export class InUseError extends Error {
  override readonly name = 'InUseError'
  constructor(readonly problem: string) {
    super(`${problem}. End that one, or set another folder`)
  }
}

class LockHeldError extends Error {
  override readonly name = 'LockHeldError'
  constructor(readonly pid: number) {
    super(`held by process ${pid}`)
  }
}

/** Linking is atomic: the lock file appears with its content, and only one process succeeds. */
const acquire = (path: string, ticket: string) => {
  while (!tryLink(ticket, path)) {
    const holder = readHolder(path)
    if (holder && isRunning(holder)) throw new LockHeldError(holder.pid)
    if (holder) removeStale(path, ticket)
  }
}

/**
 * Removes the lock of a dead process, while holding a second lock: otherwise a slow process could
 * remove the lock that a quick one has just acquired.
 */
const removeStale = (path: string, ticket: string) => {
  const guard = `${path}.takeover`
  acquire(guard, ticket)
  try {
    const holder = readHolder(path)
    if (holder && !isRunning(holder)) rmSync(path)
  } finally {
    rmSync(guard)
  }
}

type Holder = { pid: number; startTime: string }

/** The start time shows whether the pid still belongs to the holder, or to a later process. */
const isRunning = ({ pid, startTime }: Holder) => {
  if (!isAlive(pid)) return false
  const current = startTimeOf(pid)
  return current === '' || startTime === '' || current === startTime
}

const tryLink = (ticket: string, path: string) => {
  try {
    linkSync(ticket, path)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

const readHolder = (path: string): Holder | undefined => {
  try {
    const [pid, startTime = ''] = readFileSync(path, 'utf8').trim().split(' ')
    return { pid: Number(pid), startTime }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}
