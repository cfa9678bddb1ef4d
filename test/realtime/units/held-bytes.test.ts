import { limits } from '@parley/contract'
import { createMetrics } from '@parley/server/core/metrics'
import { CommandTurns } from '@parley/server/realtime/connection/command-turns'
import { FrameQueue } from '@parley/server/realtime/connection/frame-queue'
import { json } from '@parley/server/realtime/protocol/json'
import { EventMemory } from '@parley/server/realtime/topic/event-memory'
import { TrpcFrames } from '@parley/server/realtime/trpc/frames'
import { expect, onTestFinished, test, vi } from 'vitest'

/** Counted bytes of sockets and topics are given back: both may live for weeks. */

const { frameBytes } = limits.realtime

test('a decoded frame frees its bytes, so a socket may send any number of short ones', () => {
  const queue = new FrameQueue(json)
  const frame = Buffer.from('{}')
  let refused = 0
  for (let sent = 0; sent < frameBytes / 200; sent++) {
    if (!queue.push(frame)) refused += 1
    while (queue.next());
  }
  expect(refused).toBe(0)
})

test('a handled batch frees its bytes, so a tRPC socket may send any number of them', () => {
  const frames = new TrpcFrames()
  const stops = Array.from({ length: 50 }, (_, id) => ({ id, method: 'subscription.stop' }))
  const batch = { data: Buffer.from(JSON.stringify(stops)), isBinary: false }
  let refused = 0
  let passed = 0
  for (let sent = 0; sent < 200; sent++) {
    if (!frames.push(batch)) refused += 1
    while (frames.next(() => true)) passed += 1
  }
  expect([refused, passed]).toEqual([0, 200 * stops.length])
})

test('a topic without events in memory is not evicted', () => {
  const memory = new EventMemory({ mostBytes: 100, metrics: createMetrics() })
  const evicted: string[] = []
  const topicOf = (name: string) => ({ forgetEvents: () => void evicted.push(name) })
  const gone = topicOf('gone')
  memory.use(gone, 50)
  memory.use(gone, 0)
  memory.use(topicOf('large'), 101)
  expect(evicted).toEqual(['large'])
})

test('no timer is left once all waiting work has had its turn', () => {
  vi.useFakeTimers({ toFake: ['setImmediate', 'clearImmediate'] })
  onTestFinished(() => void vi.useRealTimers())
  const turns = new CommandTurns()
  const begun: string[] = []
  turns.wait('app', () => begun.push('its turn'))
  vi.advanceTimersToNextTimer()
  expect([begun, vi.getTimerCount()]).toEqual([['its turn'], 0])
})
