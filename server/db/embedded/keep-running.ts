import { performance } from 'node:perf_hooks'
import type { Cluster } from './cluster.ts'
import { type Postmaster, startPostmaster } from './postmaster.ts'
import { isAlive } from './process.ts'

const WATCH_MS = 1_000
const MAX_RESTARTS = 3
/** Restarts that are longer ago do not count. */
const COUNTED_MS = 3_600_000

type WatchOptions = {
  onNotice: (line: string) => void
  /** The server has ended once too often, as this line says. */
  onLost: (line: string) => void
}

/**
 * Restarts a server that ends by itself, up to three times within an hour. Its `stop` ends this,
 * and the server.
 */
export function keepRunning(cluster: Cluster, first: Postmaster, options: WatchOptions) {
  let current = first
  /** When it was restarted. */
  let restarts: number[] = []
  let restarting: Promise<void> | undefined
  /** Why the last restart failed, in one line. */
  let failure: string | undefined

  const restart = async () => {
    restarts.push(performance.now())
    options.onNotice(
      `The embedded PostgreSQL has ended: restarting it (${restarts.length} of ${MAX_RESTARTS})`,
    )
    await current.stop()
    current = await startPostmaster(cluster)
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
    if (restarting || isAlive(current.pid)) return
    restarts = restarts.filter((at) => performance.now() - at < COUNTED_MS)
    if (restarts.length === MAX_RESTARTS) return giveUp()
    // A server that ends while it starts has ended once more.
    restarting = restart()
      .then(
        () => (failure = undefined),
        ({ message }: Error) => (failure = message.replace(/\s*\n\s*/g, ' ')),
      )
      .then(() => (restarting = undefined))
  }, WATCH_MS).unref()
  return async () => {
    clearInterval(timer)
    await restarting
    await current.stop()
  }
}
