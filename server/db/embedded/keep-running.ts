import type { Cluster } from './cluster.ts'
import { type Postmaster, startPostmaster } from './postmaster.ts'
import { isAlive } from './process.ts'

const WATCH_MS = 1_000
const MAX_RESTARTS = 3

type WatchOptions = {
  onNotice: (line: string) => void
  /** The server has ended once too often. */
  onLost: (error: Error) => void
}

/** Restarts a server that ends by itself, three times. Its `stop` ends this, and the server. */
export function keepRunning(cluster: Cluster, first: Postmaster, options: WatchOptions) {
  let current = first
  let restarts = 0
  let restarting: Promise<void> | undefined
  /** Why the last restart failed. */
  let failure: unknown

  const restart = async () => {
    restarts += 1
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
    if (restarting || isAlive(current.pid)) return
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
