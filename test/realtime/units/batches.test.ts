import { coalesce } from '@parley/server/realtime/coalesce'
import { json } from '@parley/server/realtime/protocol/json'
import { WriteBuffer } from '@parley/server/realtime/sockets/write-buffer'
import { expect, onTestFinished, test, vi } from 'vitest'
import { patient } from '../../support/until.ts'

test('calls of a failed batch get their own results, except the one that caused it', async () => {
  const double = coalesce<number, number>(
    async (items) => {
      if (items.includes(2)) throw new Error('refused')
      return items.map((item) => item * 2)
    },
    { maxBatch: 3 },
  )
  const settled = await Promise.allSettled([1, 2, 3].map(double))
  expect(settled).toMatchObject([{ value: 2 }, { status: 'rejected' }, { value: 6 }])
})

test('calls are collected after a batch of several, even if answers are fast', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setImmediate'] })
  onTestFinished(() => void vi.useRealTimers())
  const sizes: number[] = []
  const ask = coalesce<number, number>(
    async (items) => {
      sizes.push(items.length)
      return items
    },
    { maxBatch: 1_000, pause: { eachMs: 20, mostMs: 500 } },
  )
  let answered = 0
  const come = (count: number) => {
    for (let index = 0; index < count; index++) void ask(index).then(() => answered++)
  }
  // One that comes alone never waits, nor does the one after it.
  for (const _ of [1, 2]) {
    come(1)
    await vi.advanceTimersByTimeAsync(0)
  }
  expect([answered, sizes]).toEqual([2, [1, 1]])
  for (let ms = 0; ms < 3_000; ms += 10) {
    come(2)
    await vi.advanceTimersByTimeAsync(10)
  }
  await vi.advanceTimersByTimeAsync(1_000)
  expect(answered).toBe(602)
  expect(sizes.length).toBeLessThan(16)
  expect(Math.max(...sizes)).toBeLessThan(120)
})

test('a few calls, the oldest of those postponed, share each batch with newcomers', async () => {
  const runs: number[][] = []
  const answered: number[] = []
  const ask = coalesce<number, number | 'postponed'>(
    async (items) => {
      // Newcomers arrive during each run. One of the large ones is answered, and all the others.
      if (runs.push(items) < 3) come(100 * runs.length, 2)
      const [first] = items.filter((item) => item < 100)
      return items.map((item) => (item >= 100 || item === first ? item : 'postponed'))
    },
    { maxBatch: 5, mostPostponed: 2, isPostponed: (_, result) => result === 'postponed' },
  )
  const come = (first: number, count: number) => {
    for (let item = first; item < first + count; item++)
      void ask(item).then(() => answered.push(item))
  }
  come(1, 6)
  await expect.poll(() => answered.length, patient).toBe(10)
  expect(runs).toEqual([
    [1, 2, 3, 4, 5],
    [2, 3, 6, 100, 101],
    [3, 4, 200, 201],
    [4, 5],
    [5, 6],
    [6],
  ])
})

test('a full batch that waits does not wait for more', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setImmediate'] })
  onTestFinished(() => void vi.useRealTimers())
  const sizes: number[] = []
  const run = async (items: number[]) => {
    sizes.push(items.length)
    return items
  }
  const ask = coalesce<number, number>(run, { maxBatch: 5, pause: { eachMs: 20, mostMs: 500 } })
  for (let index = 0; index < 12; index++) void ask(index)
  await vi.advanceTimersByTimeAsync(99)
  expect(sizes).toEqual([5, 5])
  await vi.advanceTimersByTimeAsync(1)
  expect(sizes).toEqual([5, 5, 2])
})

const timeout = () => Object.assign(new Error('cancelled'), { code: '57014' })

test('a batch that takes too long fails only the call that caused it', async () => {
  const sizes: number[] = []
  const items = Array.from({ length: 16 }, (_, index) => index)
  const double = coalesce<number, number>(
    async (some) => {
      sizes.push(some.length)
      if (some.includes(11)) throw timeout()
      return some.map((item) => item * 2)
    },
    { maxBatch: 16 },
  )
  const settled = await Promise.allSettled(items.map(double))
  expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(1)
  expect(settled[11]).toMatchObject({ status: 'rejected', reason: { code: '57014' } })
  expect(settled[12]).toMatchObject({ value: 24 })
  expect(sizes).toEqual([16, 8, 8, 4, 4, 2, 2, 1, 1])
})

test('half of a slow batch is answered before the other half is done', async () => {
  const answered: number[] = []
  const batches: number[][] = []
  const ask = coalesce<number, number>(
    async (items) => {
      batches.push(items)
      if (items.length === 4) throw timeout()
      // The second half ends only once the first one was answered.
      if (items.includes(3)) await vi.waitUntil(() => answered.length === 2, patient)
      return items
    },
    { maxBatch: 4 },
  )
  await Promise.all([1, 2, 3, 4].map(async (item) => answered.push(await ask(item))))
  expect(batches.map(String)).toEqual(['1,2,3,4', '1,2', '3,4'])
  expect(answered).toEqual([1, 2, 3, 4])
})

test('a batch is tried in halves for ten seconds, and no longer', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const sizes: number[] = []
  const ask = coalesce<number, number>(
    async (items) => {
      sizes.push(items.length)
      if (!items.includes(63)) return items
      vi.advanceTimersByTime(4_000)
      throw timeout()
    },
    { maxBatch: 64 },
  )
  const settled = await Promise.allSettled(Array.from({ length: 64 }, (_, index) => ask(index)))
  expect(sizes).toEqual([64, 32, 32, 16, 16])
  expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(16)
})

test('a database that is slow for every call is asked three times, and no more', async () => {
  let runs = 0
  const ask = coalesce<number, number>(
    async () => {
      runs += 1
      throw timeout()
    },
    { maxBatch: 16 },
  )
  const settled = await Promise.allSettled(Array.from({ length: 16 }, (_, index) => ask(index)))
  expect(settled.every(({ status }) => status === 'rejected')).toBe(true)
  expect(runs).toBe(3)
})

test('a frame is not reused for more messages than it contains', () => {
  const buffer = new WriteBuffer()
  const messages = ['{"a":1}', '{"b":1}', '{"c":1}'].map((text) => Buffer.from(text))
  const two = buffer.frame(json, messages.slice(0, 2))
  expect(buffer.frame(json, messages.slice(0, 2))).toBe(two)
  expect(`${buffer.frame(json, messages)}`).toBe('{"a":1}\n{"b":1}\n{"c":1}')
  expect(`${buffer.frame(json, messages.slice(0, 2))}`).toBe(`${two}`)
})
