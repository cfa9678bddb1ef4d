import type { Client } from '../connect/clients.ts'
import { createSubscriber, nothingSeen } from './subscriber.ts'

/**
 * The clients of the benchmark of several nodes. The first one connects to the first node, the
 * second one to the second node, and each to the next one when its own is lost.
 */
export type Order =
  | { kind: 'open'; urls: string[]; clients: Client[]; atOnce: number }
  | { kind: 'seen' }
export type Opened = { seconds: number }

let seen = nothingSeen()
let subscribers: ReturnType<typeof createSubscriber>[] = []

process.on('message', async (order: Order) => {
  process.send?.(order.kind === 'seen' ? seen : await openAll(order))
})
process.on('disconnect', () => process.exit())

async function openAll({ urls, clients, atOnce }: Extract<Order, { kind: 'open' }>) {
  for (const { stop } of subscribers) stop()
  const own = nothingSeen()
  seen = own
  subscribers = clients.map((client, index) =>
    createSubscriber(client, {
      urlOf: (attempt) => urls[(index + attempt) % urls.length] ?? '',
      seen: own,
    }),
  )
  const queue = [...subscribers]
  const startedAt = performance.now()
  const work = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) await next.open()
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return { seconds: (performance.now() - startedAt) / 1_000 }
}
