import type { Worker } from 'node:cluster'

const ANSWER_MS = 1_000

/** Messages between the processes of a cluster: a new connection, and the answer to it. */
type ClusterMessage = { act?: string; seq?: number; ack?: number }
type Handle = { close: () => void }
type SendToWorker = (message: ClusterMessage, handle?: Handle, ...rest: unknown[]) => boolean

/**
 * Closes the connection that a worker process was handed, if it ends before it has accepted it.
 * Node.js keeps that open for as long as this process runs, and its client waits for an answer. A
 * worker process is handed one connection at a time.
 */
export function closeUnaccepted(worker: Worker) {
  // A cluster sends handles of the system, which are no sockets.
  const child = worker.process as unknown as { send: SendToWorker }
  const { send } = child
  let pending: { seq: number | undefined; handle: Handle } | undefined
  child.send = (message, handle, ...rest) => {
    if (message.act === 'newconn' && handle) pending = { seq: message.seq, handle }
    return send.call(child, message, handle, ...rest)
  }
  worker.process.on('internalMessage', ({ ack }: ClusterMessage) => {
    if (ack !== undefined && ack === pending?.seq) pending = undefined
  })
  // Its answer may still have to be read: a connection that it refused goes to another.
  worker.once('exit', () => setTimeout(() => pending?.handle.close(), ANSWER_MS).unref())
}
