import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Client } from '../connect/clients.ts'
import type { Opened, Order } from './clients-process.ts'
import type { Seen } from './subscriber.ts'

/** The clients of all nodes, in a process of their own. */
export function startClients() {
  const child = fork(fileURLToPath(new URL('./clients-process.ts', import.meta.url)))
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the process of the clients exited with ${code}`)
  })
  ended.catch(() => {}) // Whoever asks is told.
  const ask = async (order: Order) => {
    child.send(order)
    const [answer] = await Promise.race([once(child, 'message'), ended])
    return answer
  }
  return {
    /** Closes those that are open, and spreads these over the nodes. */
    open: async (urls: string[], clients: Client[], atOnce = 100): Promise<Opened> =>
      ask({ kind: 'open', urls, clients, atOnce }),
    seen: async (): Promise<Seen> => ask({ kind: 'seen' }),
    stop: async () => {
      child.kill('SIGKILL')
      await ended.catch(() => {})
    },
  }
}
