import { setTimeout } from 'node:timers/promises'

/**
 * The errors of a server that is starting, or is not there yet: its address may be known, or its
 * socket made, only once it runs. It may also be stopped in the middle of a start, have no place
 * for another connection, be silent, or be a replica that takes the place of its primary soon.
 */
// biome-ignore format: a table of codes
const STARTING = new Set([
  '57P01', '57P02', '57P03', '53300', '25006', 'DEADLINE_EXCEEDED',
  'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'CONNECTION_CLOSED',
  'ENOENT', 'ENOTFOUND', 'EAI_AGAIN',
  'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'CONNECT_TIMEOUT',
])
const RETRY_MS = 500

type WaitOptions = { waitSeconds: number; onWait: (reason: unknown) => void }

/**
 * Repeats `open` while the database is starting, for up to `waitSeconds`. Logs once that it waits.
 */
export async function whenReady<T>(
  open: () => Promise<T>,
  { waitSeconds, onWait }: WaitOptions,
): Promise<T> {
  const until = performance.now() + 1000 * waitSeconds
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await open()
    } catch (error) {
      if (!isStarting(error) || performance.now() >= until) throw error
      if (isFirst) onWait(error)
      await setTimeout(RETRY_MS)
    }
  }
}

const isStarting = (error: unknown) =>
  error instanceof Error && 'code' in error && STARTING.has(String(error.code))
