import {
  appendFileSync,
  closeSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  truncateSync,
} from 'node:fs'

const LARGEST_BYTES = 10 * 1024 * 1024
/** The end of a log that has grown too large, which is kept. */
const KEPT_BYTES = 512 * 1024

/**
 * Opens the server's log, in which each write goes to its end, wherever that is by then: so a log
 * that is being written may be trimmed.
 */
export function openLog(path: string) {
  trimLog(path)
  const descriptor = openSync(path, 'a', 0o600)
  const start = sizeOf(path)
  const lastLines = () =>
    readFileSync(path).subarray(start).toString().trimEnd().split('\n').slice(-5).join('\n')
  return { descriptor, lastLines }
}

/**
 * Leaves the last lines of a log that has grown too large: a server that runs for long, or refuses
 * statement after statement, as on a full disk, would take more and more room.
 */
export function trimLog(path: string) {
  try {
    const size = sizeOf(path)
    if (size <= LARGEST_BYTES) return
    const end = endOf(path, size)
    truncateSync(path)
    appendFileSync(path, end.subarray(end.indexOf('\n') + 1))
  } catch {
    // It is only a log: the next time it is tried again.
  }
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0

function endOf(path: string, size: number) {
  const end = Buffer.alloc(KEPT_BYTES)
  const descriptor = openSync(path, 'r')
  try {
    return end.subarray(0, readSync(descriptor, end, 0, KEPT_BYTES, size - KEPT_BYTES))
  } finally {
    closeSync(descriptor)
  }
}
