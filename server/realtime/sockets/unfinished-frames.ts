import type { Metrics } from '../../core/metrics.ts'
import type { CountedSocket } from './counted-socket.ts'

type UnfinishedOptions = {
  /** How many bytes of unfinished frames this node may keep for its sockets. */
  mostBytes: number
  metrics: Pick<Metrics, 'socketsCut'>
}

/** How often they are counted. */
const LOOK_MS = 1_000

/**
 * Bounds the memory of frames that never end: a socket can hold almost a whole frame until its
 * client fails to answer a ping. When all together take too much, the sockets that sent the most
 * are cut. Returns a function that stops this.
 */
export function boundUnfinishedFrames(
  sockets: () => Iterable<CountedSocket>,
  options: UnfinishedOptions,
) {
  const timer = setInterval(() => cutLargest(sockets(), options), LOOK_MS).unref()
  return () => clearInterval(timer)
}

function cutLargest(sockets: Iterable<CountedSocket>, { mostBytes, metrics }: UnfinishedOptions) {
  const all = [...sockets]
  let excess = all.reduce((sum, { unfinishedBytes }) => sum + unfinishedBytes, -mostBytes)
  if (excess <= 0) return
  for (const socket of all.sort(byUnfinished)) {
    if (excess <= 0) return
    excess -= socket.unfinishedBytes
    socket.terminate()
    metrics.socketsCut.inc()
  }
}

const byUnfinished = (a: CountedSocket, b: CountedSocket) => b.unfinishedBytes - a.unfinishedBytes
