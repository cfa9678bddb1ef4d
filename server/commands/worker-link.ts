import type { MetricObject } from 'prom-client'
import { z } from 'zod'
import { handedToWorker, handToWorker } from '../config/index.ts'

/** Passed by the first process of a server to each worker process that it starts. */
const Handed = z.object({
  /** The worker's number, from 1. Worker 1 also runs the jobs. */
  number: z.number(),
  /** Whether it says where the server is. */
  announces: z.boolean(),
  databaseUrl: z.string(),
})
export type Handed = z.infer<typeof Handed>

/** Undefined unless this is a worker process. */
export function handed(): Handed | undefined {
  const text = handedToWorker()
  return text === undefined ? undefined : Handed.parse(JSON.parse(text))
}

export const environmentOf = (handed: Handed) => handToWorker(JSON.stringify(handed))

/** Requests of the first process to a worker process. */
export const Order = z.discriminatedUnion('order', [
  z.object({ order: z.literal('stop') }),
  /** Stop: the worker process that replaces this one listens. */
  z.object({ order: z.literal('hand over') }),
  z.object({ order: z.literal('show metrics'), id: z.number() }),
])
export type Order = z.infer<typeof Order>

/** The answer to `show metrics`. The metrics are those of prom-client. */
export const ShownMetrics = z.object({ id: z.number(), metrics: z.array(z.unknown()) })

/** Follows the orders of the first process. */
export function followOrders(follow: {
  stop: () => void
  handOver: () => void
  showMetrics: (() => Promise<MetricObject[]>) | undefined
}) {
  process.on('message', (message) => {
    const { data: order } = Order.safeParse(message)
    if (order?.order === 'stop') follow.stop()
    if (order?.order === 'hand over') follow.handOver()
    if (order?.order === 'show metrics')
      follow.showMetrics?.().then(
        (metrics) => process.send?.({ id: order.id, metrics }),
        () => {}, // it counts as busy
      )
  })
}
