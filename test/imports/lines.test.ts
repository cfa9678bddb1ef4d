import { limits } from '@parley/contract'
import { batchesOf } from '@parley/server/features/imports/lines'
import { expect, onTestFinished, test, vi } from 'vitest'
import { collectGarbage } from '../support/heap.ts'

const { batch, stalledSeconds } = limits.imports
const SECOND_MS = 1_000

function stopClock() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
}

/** A body whose chunks come when they are sent. */
function openBody(...stalledMs: number[]) {
  const waiting: ((chunk: string) => void)[] = []
  const send = (chunk: string) => waiting.shift()?.(chunk)
  const state = { isReturned: false }
  const next = async () => {
    const chunk = new Promise<string>((resolve) => waiting.push(resolve))
    return { done: false as const, value: Buffer.from(await chunk) }
  }
  const iterator = {
    next,
    return: async () => {
      state.isReturned = true
      return { done: true as const, value: undefined }
    },
  }
  const body = { [Symbol.asyncIterator]: () => iterator }
  return { batches: batchesOf(body, ...stalledMs), send, state }
}

test('a batch has as many lines and bytes as share a transaction, and no more', async () => {
  const sizes = async (chunk: string) => {
    const found: number[] = []
    const body = (async function* () {
      yield Buffer.from(chunk)
    })()
    for await (const lines of batchesOf(body)) found.push(lines.length)
    return found
  }
  expect(await sizes('{}\n'.repeat(batch.lines + 1))).toEqual([batch.lines, 1])
  const quarter = `${'x'.repeat(batch.bytes / 4)}\n`
  expect(await sizes(quarter.repeat(5))).toEqual([4, 1])
})

test('a chunk of blank lines is read in many turns of the event loop', async () => {
  let turns = 0
  let isOver = false
  const nextTurn = () => {
    turns += 1
    if (!isOver) setImmediate(nextTurn)
  }
  nextTurn()
  const body = (async function* () {
    yield Buffer.alloc(100 * batch.lines, '\n')
  })()
  for await (const lines of batchesOf(body)) expect(lines).toEqual([])
  isOver = true
  expect(turns).toBeGreaterThan(90)
})

test('lines that have arrived are imported after a second without another', async () => {
  stopClock()
  const { batches, send } = openBody()
  const first = batches.next()
  send('{}\n')
  await vi.advanceTimersByTimeAsync(SECOND_MS)
  expect(await first).toEqual({ done: false, value: [{ line: 1, text: '{}' }] })
})

test('the time limit for the next line does not run while a batch is stored', async () => {
  stopClock()
  const { batches, send } = openBody()
  const first = batches.next()
  send('{}\n'.repeat(batch.lines))
  expect((await first).value).toHaveLength(batch.lines)
  await vi.advanceTimersByTimeAsync(2 * stalledSeconds * SECOND_MS)
  const second = batches.next()
  await vi.advanceTimersByTimeAsync((stalledSeconds - 1) * SECOND_MS)
  send('{}\n')
  await vi.advanceTimersByTimeAsync(SECOND_MS)
  expect((await second).value).toEqual([{ line: batch.lines + 1, text: '{}' }])
})

test('a body that sends no line in time is ended', async () => {
  stopClock()
  const { batches, state } = openBody()
  const stalled = expect(batches.next()).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
  await vi.advanceTimersByTimeAsync(stalledSeconds * SECOND_MS)
  await stalled
  expect(state.isReturned).toBe(true)
})

test('a body that may stall is waited for, however long no line comes', async () => {
  stopClock()
  const { batches, send } = openBody(Number.POSITIVE_INFINITY)
  const first = batches.next()
  await vi.advanceTimersByTimeAsync(10 * stalledSeconds * SECOND_MS)
  send('{}\n')
  await vi.advanceTimersByTimeAsync(SECOND_MS)
  expect((await first).value).toEqual([{ line: 1, text: '{}' }])
})

test('a byte now and then does not keep a body open', async () => {
  stopClock()
  const { batches, send } = openBody()
  let isEnded = false
  batches.next().catch(() => {
    isEnded = true
  })
  await vi.advanceTimersByTimeAsync((stalledSeconds - 1) * SECOND_MS)
  send('{')
  await vi.advanceTimersByTimeAsync(SECOND_MS)
  expect(isEnded).toBe(true)
})

test('nothing of a line that is too long is kept in memory, however long it gets', async () => {
  const { lineBytes } = limits.imports
  const chunks: WeakRef<ArrayBufferLike>[] = []
  const kept: number[] = []
  const inUse = async () => {
    // A reference that was looked at holds until the end of its turn.
    await new Promise(setImmediate)
    collectGarbage()
    return chunks.filter((chunk) => chunk.deref()).length
  }
  async function* line() {
    for (let count = 0; count < 8; count++) {
      const chunk = Buffer.alloc(lineBytes, 'x')
      chunks.push(new WeakRef(chunk.buffer))
      yield chunk
      if (count >= 5) kept.push(await inUse())
    }
    yield Buffer.from('\n{}\n')
  }
  const lines = []
  for await (const batch of batchesOf(line())) lines.push(...batch)
  expect(lines).toEqual([
    { line: 1, problem: `expected at most ${lineBytes} bytes` },
    { line: 2, text: '{}' },
  ])
  expect(Math.max(...kept)).toBeLessThanOrEqual(3)
})
