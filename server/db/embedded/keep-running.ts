import { performance } from 'node:perf_hooks'
import type { Cluster } from './cluster.ts'
import { type Postmaster, startPostmaster } from './postmaster.ts'
import { isAlive } from './process.ts'

const WATCH_MS = 1_000
const MAX_RESTARTS = 3
/** A server that ran for so long after a restart may be restarted as often again. */
const HEALTHY_MS = 3_600_000

type WatchOptions = {
  onNotice: (line: string) => void
  /** The server has ended once too often. */
  onLost: (error: Error) => void
}

/**
 * Restarts a server that ends by itself, three times, until it has run for an hour. Its `stop` ends
 * this, and the server.
 */
export function keepRunning(cluster: Cluster, first: Postmaster, options: WatchOptions) {
  let current = first
  let restarts = 0
  let restartedAt = Number.NEGATIVE_INFINITY
  let restarting: Promise<void> | undefined
  /** Why the last restart failed. */
  let failure: unknown

  const restart = async () => {
    restarts += 1
    restartedAt = performance.now()
    options.onNotice(
      `The embedded PostgreSQL has ended: restarting it (${restarts} of ${MAX_RESTARTS})`,
    )
    await current.stop()
    current = await startPostmaster(cluster)
  }
  const giveUp = () => {
    clearInterval(timer)
    const message = `The embedded PostgreSQL has ended ${MAX_RESTARTS + 1} times: giving up`
    options.onLost(new Error(message, { cause: failure }))
  }
  const timer = setInterval(() => {
    if (restarting) return
    if (isAlive(current.pid)) {
      if (performance.now() - restartedAt > HEALTHY_MS) restarts = 0
      return
    }
    if (restarts === MAX_RESTARTS) return giveUp()
    // A server that ends while it starts has ended once more.
    restarting = restart()
      .then(
        () => (failure = undefined),
        (error: unknown) => (failure = error),
      )
      .then(() => (restarting = undefined))
  }, WATCH_MS).unref()
  return async () => {
    clearInterval(timer)
    await restarting
    await current.stop()
  }
}
