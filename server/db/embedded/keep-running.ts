import type { Cluster } from './cluster.ts'
import { type Postmaster, startPostmaster } from './postmaster.ts'
import { isAlive } from './process.ts'

const WATCH_MS = 1_000
const MAX_RESTARTS = 3

type WatchOptions = {
  onNotice: (line: string) => void
  /** The server has ended once too often, or could not be restarted. */
  onLost: (error: Error) => void
}

/** Restarts a server that ends by itself, three times. Its `stop` ends this, and the server. */
export function keepRunning(cluster: Cluster, first: Postmaster, options: WatchOptions) {
  let current = first
  let restarts = 0
  let restarting: Promise<void> | undefined

  const restart = async () => {
    if (restarts === MAX_RESTARTS)
      throw new Error(`The embedded PostgreSQL has ended ${MAX_RESTARTS + 1} times: giving up`)
    restarts += 1
    options.onNotice(
      `The embedded PostgreSQL has ended: restarting it (${restarts} of ${MAX_RESTARTS})`,
    )
    await current.stop()
    current = await startPostmaster(cluster)
  }
  const timer = setInterval(() => {
    if (restarting || isAlive(current.pid)) return
    restarting = restart().then(
      () => (restarting = undefined),
      (error: Error) => {
        clearInterval(timer)
        options.onLost(error)
      },
    )
  }, WATCH_MS).unref()
  return async () => {
    clearInterval(timer)
    await restarting
    await current.stop()
  }
}
