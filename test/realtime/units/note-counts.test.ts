import { createNoteCounts } from '@parley/server/realtime/broker/note-counts'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'

const SILENT_MS = 1_000

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
})
const pass = (milliseconds: number) => vi.advanceTimersByTime(milliseconds)

function openCounts() {
  const missed: number[] = []
  const met: string[] = []
  const counts = createNoteCounts({
    silentMs: SILENT_MS,
    onMissed: (milliseconds) => void missed.push(milliseconds),
    onPeer: () => void met.push('met'),
  })
  return { ...counts, missed, met }
}

test('a missing number shows that notes were lost since the last that arrived', () => {
  const { received, missed } = openCounts()
  received('ana', 7, true)
  received('ben', 1, true)
  pass(10)
  received('ana', 8, false)
  pass(30)
  received('ben', 2, true)
  // A payload that arrives twice, or late, is nothing new.
  received('ana', 8, false)
  received('ana', 10, false)
  received('ana', 9, false)
  received('ana', 11, false)
  expect(missed).toEqual([30])
})

test('the first notes of a new node count as lost if they did not arrive', () => {
  const { received, restarted, missed } = openCounts()
  pass(SILENT_MS + 1)
  received('ana', 1, false)
  expect(missed).toEqual([])
  received('ben', 2, false)
  expect(missed).toEqual([SILENT_MS])
  // A node that listens again knows that it has missed notes of all nodes.
  restarted()
  received('ana', 9, false)
  expect(missed).toHaveLength(1)
})

test('the silence of a node that beats counts as lost notes once, unless it said it stops', () => {
  const { received, left, check, missed } = openCounts()
  // It sends only what it has to say.
  received('worker', 1, false)
  pass(10)
  received('beating', 1, true)
  received('beating', 2, false)
  received('stopped', 1, true)
  left('stopped')
  const receivedAt = performance.now()
  pass(SILENT_MS + 1)
  // This node has received nothing from any other: its own connection is silent.
  check(receivedAt)
  expect(missed).toEqual([])
  check(performance.now())
  check(performance.now())
  expect(missed).toEqual([SILENT_MS + 1])
})

test('a node without heartbeats may pause between notes without seeming to lose any', () => {
  const { received, check, missed } = openCounts()
  received('worker', 1, false)
  pass(10 * SILENT_MS)
  check(performance.now())
  received('worker', 2, false)
  expect(missed).toEqual([])
  pass(10 * SILENT_MS)
  check(performance.now())
  received('worker', 4, false)
  expect(missed).toEqual([10 * SILENT_MS])
})

test('a node that always sends notes is missed after a new connection listens', () => {
  const { received, restarted, check, missed } = openCounts()
  received('ana', 1, true)
  received('worker', 1, false)
  restarted()
  for (const sender of ['ana', 'worker']) received(sender, 2, false)
  pass(SILENT_MS + 1)
  check(performance.now())
  expect(missed).toEqual([SILENT_MS + 1])
})

test('a node without beats for a minute may be one that never sends any', () => {
  const { received, restarted, check, missed } = openCounts()
  received('ana', 1, true)
  pass(60_001)
  restarted()
  check(performance.now())
  received('ana', 9, false)
  pass(SILENT_MS + 1)
  check(performance.now())
  expect(missed).toEqual([])
})

test('a node is a peer once it beats, until it says that it stops, or for a minute', () => {
  const { received, left, hasPeers, met } = openCounts()
  received('worker', 1, false)
  expect([hasPeers(), met.length]).toEqual([false, 0])
  for (const number of [1, 2]) received('ana', number, true)
  expect([hasPeers(), met.length]).toEqual([true, 1])
  left('ana')
  expect(hasPeers()).toBe(false)
  received('ben', 1, true)
  pass(60_000)
  expect([hasPeers(), met.length]).toEqual([true, 2])
  pass(1)
  expect(hasPeers()).toBe(false)
})

test('a payload for few nodes does not hide that one for all was lost before it', () => {
  const { received, receivedUnnumbered, missed } = openCounts()
  received('ana', 4, true)
  pass(10)
  receivedUnnumbered('ana', 5)
  received('ana', 6, true)
  expect(missed).toEqual([10])
})

test('notes that were lost in a silence are missed since the silence began', () => {
  const { received, receivedUnnumbered, check, restarted, missed } = openCounts()
  for (const nodeId of ['ana', 'ben', 'dan']) received(nodeId, 1, true)
  pass(SILENT_MS + 1)
  check(performance.now())
  expect(missed.splice(0)).toHaveLength(3)
  pass(60_000)
  check(performance.now())
  // A new connection of this node is silent for less long.
  restarted()
  // Lost: 2 to 5 of Ana, and 2 of Ben. Dan had nothing to say.
  receivedUnnumbered('ana', 5)
  received('ana', 6, true)
  received('ben', 3, true)
  received('dan', 2, true)
  expect(missed.splice(0)).toEqual([SILENT_MS + 60_001, SILENT_MS + 60_001])
  // The next silence is another one.
  pass(SILENT_MS + 1)
  check(performance.now())
  expect(missed).toHaveLength(3)
})

test('a node that has been silent for an hour is forgotten', () => {
  const { received, check, missed } = openCounts()
  received('ana', 1, true)
  pass(3_600_001)
  check(performance.now())
  expect(missed.splice(0)).toEqual([3_600_001])
  received('ana', 9, true)
  expect(missed).toEqual([SILENT_MS])
})
