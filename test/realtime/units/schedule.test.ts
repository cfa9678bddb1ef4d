import { createSchedule, inTurn, oneAtATime } from '@parley/server/realtime/schedule'
import { expect, onTestFinished, test, vi } from 'vitest'

test('work that takes longer than its interval is never done twice at once', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const reported: string[] = []
  const { every, stop } = createSchedule((_, problem) => reported.push(problem))
  let running = 0
  let runs = 0
  let most = 0
  const work = async () => {
    runs += 1
    running += 1
    most = Math.max(most, running)
    await new Promise((resolve) => setTimeout(resolve, 250))
    running -= 1
    if (runs === 2) throw new Error('lost')
  }
  every(100, { work, problem: 'not done' })
  await vi.advanceTimersByTimeAsync(1_000)
  expect([runs, most, reported]).toEqual([4, 1, ['not done']])
  stop()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(runs).toBe(4)
})

test.each([
  ['with others', oneAtATime],
  ['in turn', inTurn],
])('work scheduled %s runs again on request after it has failed', async (_, schedule) => {
  let runs = 0
  const run = schedule(async () => {
    runs += 1
    throw new Error('away')
  })
  for (const _ of ['first', 'second']) await expect(run()).rejects.toThrow('away')
  expect(runs).toBe(2)
})
