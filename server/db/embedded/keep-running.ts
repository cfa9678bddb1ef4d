import { existsSync, statfsSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import type { Cluster } from './cluster.ts'
import { type Postmaster, startPostmaster } from './postmaster.ts'
import { isAlive } from './process.ts'
import { trimLog } from './server-log.ts'

const WATCH_MS = 1_000
const MAX_RESTARTS = 3
/** Restarts that are longer ago do not count. */
const COUNTED_MS = 3_600_000

/** Two segments of its write-ahead log. With less room a server may be unable to start. */
const ROOM_BYTES = 32 * 1024 * 1024
/** How long it waits for room, at most, before it tries again. */
const LONGEST_PAUSE_MS = 30_000

type KeepRunningOptions = {
  onNotice: (line: string) => void
  /** The server has ended once too often, as this line says. */
  onLost: (line: string) => void
}

/**
 * Restarts a server that ends by itself, up to three times within an hour; one that has no room on
 * its disk, again and again until it has. It keeps the server's log short. Its `stop` ends this,
 * and the server.
 */
export function keepRunning(cluster: Cluster, first: Postmaster, options: KeepRunningOptions) {
  let current = first
  /** When it was restarted. */
  let restarts: number[] = []
  let restarting: Promise<void> | undefined
  /** Why the last restart failed, in one line. */
  let failure: string | undefined
  /** Between tries for lack of room; 0 if there was enough. */
  let pauseMs = 0
  let pausedAt = 0

  const restart = async () => {
    restarts.push(performance.now())
    if (pauseMs === 0)
      options.onNotice(
        `The embedded PostgreSQL has ended: restarting it (${restarts.length} of ${MAX_RESTARTS})`,
      )
    await current.stop()
    current = await startPostmaster(cluster)
  }
  /** The last try does not count. */
  const awaitRoom = () => {
    if (pauseMs === 0)
      options.onNotice(
        'The embedded PostgreSQL has no room on its disk: trying again until it has. ' +
          `Its log is ${cluster.log}`,
      )
    restarts.pop()
    pausedAt = performance.now()
    pauseMs = Math.min(pauseMs * 2 || WATCH_MS, LONGEST_PAUSE_MS)
  }
  const giveUp = () => {
    clearInterval(timer)
    const cause = failure === undefined ? '' : ` (${failure})`
    options.onLost(
      `The embedded PostgreSQL has ended ${MAX_RESTARTS + 1} times within an hour: ` +
        `giving up${cause}. Its log is ${cluster.log}`,
    )
  }
  const timer = setInterval(() => {
    if (!restarting) trimLog(cluster.log)
    if (restarting || isAlive(current.pid) || performance.now() - pausedAt < pauseMs) return
    restarts = restarts.filter((at) => performance.now() - at < COUNTED_MS)
    if (restarts.length === MAX_RESTARTS) return giveUp()
    // A server that ends while it starts has ended once more.
    restarting = restart()
      .then(
        () => {
          options.onNotice('The embedded PostgreSQL serves again')
          failure = undefined
          pauseMs = 0
        },
        ({ message }: Error) => {
          failure = message.replace(/\s*\n\s*/g, ' ')
          if (!hasRoom(cluster)) awaitRoom()
        },
      )
      .then(() => (restarting = undefined))
  }, WATCH_MS).unref()
  return async () => {
    clearInterval(timer)
    await restarting
    await current.stop()
  }
}

/** Whether there is room on the disk, which is not asked about files that are gone. */
function hasRoom({ directory }: Cluster) {
  if (!existsSync(directory)) return true
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize >= ROOM_BYTES
}
