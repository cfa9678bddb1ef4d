import type { Client } from '../connect/clients.ts'
import { createSubscriber, nothingSeen } from './subscriber.ts'

/**
 * Clients of the benchmark of several nodes, from the one with the number `first` on. Number 0
 * connects to the first node, number 1 to the second node, and each to the next one when its own is
 * lost. They answer each order with their counts.
 */
export type Order =
  | { kind: 'open'; urls: string[]; clients: Client[]; first: number; atOnce: number }
  | { kind: 'seen' }

let seen = nothingSeen()
let subscribers: ReturnType<typeof createSubscriber>[] = []

process.on('message', async (order: Order) => {
  if (order.kind === 'open') await openAll(order)
  process.send?.(seen)
})
process.on('disconnect', () => process.exit())

async function openAll({ urls, clients, first, atOnce }: Extract<Order, { kind: 'open' }>) {
  for (const { stop } of subscribers) stop()
  const own = nothingSeen()
  seen = own
  subscribers = clients.map((client, index) =>
    createSubscriber(client, {
      urlOf: (attempt) => urls[(first + index + attempt) % urls.length] ?? '',
      seen: own,
    }),
  )
  const queue = [...subscribers]
  const work = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) await next.open()
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}
