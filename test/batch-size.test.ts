import { createBatchSize } from '@parley/server/jobs/batch-size'
import { expect, test } from 'vitest'
import { stopClock } from './support/clock.ts'

const timeout = () => Object.assign(new Error('cancelled'), { code: '57014' })

/** The numbers of rows that a step was given, if the database manages at most `can`. */
async function given(batch: ReturnType<typeof createBatchSize>, can: number) {
  const tried: number[] = []
  await batch.run(async (rows) => {
    tried.push(rows)
    if (rows > can) throw timeout()
  })
  return tried
}

test('a slow step is halved at once, and success doubles the next up to the most', async () => {
  const batch = createBatchSize(1_000)
  expect(await given(batch, 200)).toEqual([1_000, 500, 250, 125])
  expect(await given(batch, 1_000)).toEqual([250])
  expect(await given(batch, 1_000)).toEqual([500])
  expect(await given(batch, 1_000)).toEqual([1_000])
  expect(await given(batch, 1_000)).toEqual([1_000])
})

test('a step of one row that takes too long fails, and the next starts with one row', async () => {
  const batch = createBatchSize(5)
  await expect(given(batch, 0)).rejects.toThrow('cancelled')
  expect(await given(batch, 5)).toEqual([1])
  expect(await given(batch, 5)).toEqual([2])
})

test('a step that fails for another reason is not repeated', async () => {
  const batch = createBatchSize(8)
  let steps = 0
  const failing = batch.run(async () => {
    steps += 1
    throw Object.assign(new Error('locked'), { code: '55P03' })
  })
  await expect(failing).rejects.toThrow('locked')
  expect(steps).toBe(1)
  expect(await given(batch, 8)).toEqual([8])
})

test('a step with a time limit begins with few rows, doubled while it is quick', async () => {
  const clock = stopClock()
  const batch = createBatchSize(200, { mostMs: 50 })
  let now = 0
  /** The rows of the next step, which takes this long. */
  const taking = (milliseconds: number) =>
    batch.run(async (rows) => {
      now += milliseconds
      clock.putForward(now)
      return rows
    })
  const rows: number[] = []
  for (const milliseconds of [25, 25, 25, 51, 51, 26, 50, 25, 51, 51, 51, 51, 25])
    rows.push(await taking(milliseconds))
  expect(rows).toEqual([25, 50, 100, 200, 100, 50, 50, 50, 100, 50, 25, 13, 10])
})
