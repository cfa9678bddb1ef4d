import { randomUUID } from 'node:crypto'
import { topics } from '@parley/contract'
import { createMetrics } from '@parley/server/core/metrics'
import type { Db } from '@parley/server/db/client'
import type { Broker } from '@parley/server/realtime/broker/index'
import { createWorkerPublisher } from '@parley/server/realtime/worker-publisher'
import { expect, test } from 'vitest'
import { keptPerCall } from '../../support/heap.ts'
import { appId } from '../hub/fixture.ts'

test('channels whose messages a worker has deleted take none of its memory', async () => {
  let statements = 0
  const use = async () => {
    statements += 1
    return []
  }
  const { publisher, stop } = createWorkerPublisher({
    db: { use } as unknown as Db, // what it calls of it
    nodeId: 'worker',
    broker: { send: () => {}, hasPeers: () => true } as unknown as Broker, // the same
    metrics: createMetrics(),
    report: (error) => expect.unreachable(String(error)),
  })
  const deleteOne = () => {
    const topic = topics.channel(appId, randomUUID())
    const event = { topic, offset: 1, type: 'message.deleted', envelope: '{}', messageId: null }
    publisher.publish([{ ...event, payload: {} } as never]) // the payload is not read
  }
  // A stop counts what is left to count.
  expect(await keptPerCall(30, { call: deleteOne, settled: stop })).toBeLessThan(30)
  expect(statements).toBeGreaterThan(0)
})
