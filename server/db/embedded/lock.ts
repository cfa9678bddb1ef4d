import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { birthOf, codeOf, isAlive } from './process.ts'

/** Makes this process the one owner of the directory, until it calls the answer or ends. */
export const lock = (directory: string) => {
  const path = join(directory, 'parley.lock')
  const ticket = `${path}.${randomUUID()}`
  writeFileSync(ticket, `${process.pid} ${birthOf(process.pid)}\n`)
  try {
    claim(path, ticket)
  } catch (error) {
    throw error instanceof Held
      ? new Error(`DATA_DIR ${directory} is in use by process ${error.pid}`)
      : error
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

class Held extends Error {
  constructor(readonly pid: number) {
    super(`held by process ${pid}`)
  }
}

/** A link is made whole or not at all, and by one only. */
const claim = (path: string, ticket: string) => {
  while (!isLinked(ticket, path)) {
    const holder = readHolder(path)
    if (holder && isHeld(holder)) throw new Held(holder.pid)
    if (holder) removeStale(path, ticket)
  }
}

/** Who removes a stale lock must hold another: else a slow one removes what a quick one has just made in its place. */
const removeStale = (path: string, ticket: string) => {
  const guard = `${path}.takeover`
  claim(guard, ticket)
  try {
    const holder = readHolder(path)
    if (holder && !isHeld(holder)) rmSync(path)
  } finally {
    rmSync(guard)
  }
}

const isHeld = ({ pid, birth }: { pid: number; birth: string }) => {
  if (!isAlive(pid)) return false
  const now = birthOf(pid)
  return now === '' || birth === '' || now === birth
}

const isLinked = (ticket: string, path: string) => {
  try {
    linkSync(ticket, path)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

const readHolder = (path: string) => {
  try {
    const [pid, birth = ''] = readFileSync(path, 'utf8').trim().split(' ')
    return { pid: Number(pid), birth }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}
