import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

const MEGABYTE = 1024 * 1024

/** A disk of `megabytes`, until the end of the test; undefined where none may be mounted. */
export function mountSmallDisk(megabytes: number) {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'parley-disk-'))
  const options = ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'tmpfs', folder]
  const isMounted = spawnSync('mount', options).status === 0
  onTestFinished(() => {
    if (isMounted) spawnSync('umount', ['--lazy', folder])
    rmSync(folder, { recursive: true, force: true })
  })
  if (!isMounted) return undefined
  const filler = join(folder, 'filler')
  return {
    folder,
    /** Fills the disk, except for `leaveMegabytes`. */
    fill: ({ leaveMegabytes = 0 } = {}) => {
      while (canAppend(filler, MEGABYTE)) {}
      while (canAppend(filler, 4096)) {}
      truncateSync(filler, statSync(filler).size - leaveMegabytes * MEGABYTE)
    },
    makeRoom: () => rmSync(filler),
  }
}

function canAppend(file: string, bytes: number) {
  try {
    appendFileSync(file, Buffer.alloc(bytes))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false // of appendFileSync
    throw error
  }
}
