import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Client } from '../connect/clients.ts'
import type { Order } from './clients-process.ts'
import { nothingSeen, type Seen } from './subscriber.ts'

/** Each socket takes a file descriptor, and a process may have few: 20,000 on some machines. */
const PROCESSES = 2

/** The clients of all nodes, in processes of their own. */
export function startClients(count: number) {
  const processes = Array.from({ length: PROCESSES }, startProcess)
  const each = Math.ceil(count / PROCESSES)
  return {
    /** Closes those that are open, and spreads these over the nodes. */
    open: async (urls: string[], clients: Client[], atOnce = 100) => {
      const orders = processes.map(({ ask }, index) => {
        const first = index * each
        const own = clients.slice(first, first + each)
        return ask({ kind: 'open', urls, clients: own, first, atOnce })
      })
      await Promise.all(orders)
    },
    seen: async () => {
      const sum = nothingSeen()
      for (const seen of await Promise.all(processes.map(({ ask }) => ask({ kind: 'seen' }))))
        for (const [name, value] of Object.entries(seen)) sum[name as keyof Seen] += value
      return sum
    },
    stop: async () => {
      await Promise.all(processes.map(({ stop }) => stop()))
    },
  }
}

function startProcess() {
  const child = fork(fileURLToPath(new URL('./clients-process.ts', import.meta.url)))
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`a process of clients exited with ${code}`)
  })
  ended.catch(() => {}) // `ask` reports the failure.
  return {
    ask: async (order: Order): Promise<Seen> => {
      child.send(order)
      const [answer] = await Promise.race([once(child, 'message'), ended])
      return answer
    },
    stop: async () => {
      child.kill('SIGKILL')
      await ended.catch(() => {})
    },
  }
}
