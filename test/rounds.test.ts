import { createRounds, LAST_ROUND } from '@parley/server/jobs/rounds'
import { expect, test } from 'vitest'
import { stopClock } from './support/clock.ts'

const pushes = (appId: string) => ({ task: 'push-message' as const, appId })
const queue = 'push' as const

test('each job of an app has the round after the one before, from the running one on', () => {
  const rounds = createRounds()
  expect([3, 3, 5, 5].map((running) => rounds.take(pushes('one'), running))).toEqual([3, 4, 5, 6])
  expect(rounds.take(pushes('two'), 5)).toBe(5)
  // Invites of the same app have turns of their own.
  expect(rounds.take({ task: 'push-invite', appId: 'one' }, 5)).toBe(5)
  rounds.drained({ running: [], next: [{ ...pushes('one'), round: 500 }] })
  expect(rounds.take(pushes('one'), 5)).toBe(500)
})

test('an app keeps its next round until the queue reaches it, or no jobs wait', () => {
  const rounds = createRounds()
  const [one, two] = [
    { ...pushes('one'), round: 7 },
    { ...pushes('two'), round: 9 },
  ]
  const other = { task: 'preview' as const, appId: 'one', round: 4 }
  rounds.drained({ running: [], next: [one, two, other] })
  rounds.drained({ running: [{ queue, running: 6 }], next: [] })
  expect(rounds.ahead()).toEqual([other, two, one])
  rounds.drained({ running: [{ queue, running: 7 }], next: [] })
  expect(rounds.ahead()).toEqual([other, two])
  rounds.drained({ running: [{ queue, running: null }], next: [one] })
  expect(rounds.ahead()).toEqual([one, other])
})

test('an app of which nothing was enqueued for long begins with the running round', () => {
  const clock = stopClock()
  const rounds = createRounds()
  rounds.drained({ running: [], next: [{ ...pushes('one'), round: 70 }] })
  clock.putForward(600_001)
  expect([rounds.ahead(), rounds.take(pushes('one'), 3)]).toEqual([[], 3])
})

test('no round is higher than the priorities that can be stored', () => {
  const rounds = createRounds()
  rounds.drained({ running: [], next: [{ ...pushes('one'), round: 100_000 }] })
  expect(rounds.take(pushes('one'), 3)).toBe(LAST_ROUND)
})
