import { createRounds, LAST_ROUND } from '@parley/server/jobs/rounds'
import { expect, test } from 'vitest'
import { stopClock } from './support/clock.ts'

const pushes = (appId: string) => ({ task: 'push-message' as const, appId })

test('who has nothing waiting gets the round that is being run, others one after the other', () => {
  const rounds = createRounds()
  expect([1, 2, 3].map(() => rounds.take(pushes('large')))).toEqual([0, 1, 2])
  rounds.enqueued({ ...pushes('large'), round: 500 })
  expect(rounds.ahead()).toEqual([{ ...pushes('large'), round: 500 }])
  expect(rounds.take(pushes('small'))).toBe(0)
  rounds.begin({ ...pushes('large'), round: 40 })
  expect(rounds.take(pushes('other'))).toBe(40)
  expect(rounds.take(pushes('large'))).toBe(500)
  // Invites of the same app have turns of their own, and other queues rounds of their own.
  expect(rounds.take({ task: 'push-invite', appId: 'large' })).toBe(40)
  expect(rounds.take({ task: 'preview', appId: 'large' })).toBe(0)
})

test('an app whose last job is being run has nothing waiting any more', () => {
  const rounds = createRounds()
  rounds.take(pushes('one'))
  rounds.take(pushes('two'))
  rounds.take(pushes('two'))
  rounds.begin({ ...pushes('one'), round: 0 })
  rounds.begin({ ...pushes('two'), round: 1 })
  rounds.begin({ ...pushes('two'), round: 0 })
  expect([rounds.ahead(), rounds.take(pushes('one'))]).toEqual([[], 0])
})

test('jobs that another process has run are forgotten in time', () => {
  const clock = stopClock()
  const rounds = createRounds()
  rounds.enqueued({ ...pushes('one'), round: 70 })
  clock.putForward(600_001)
  expect([rounds.ahead(), rounds.take(pushes('one'))]).toEqual([[], 0])
})

test('an app with waiting jobs in all rounds leaves some before its last to others', () => {
  const rounds = createRounds()
  rounds.enqueued({ ...pushes('large'), round: 100_000 })
  expect(rounds.take(pushes('large'))).toBe(LAST_ROUND)
  rounds.begin({ ...pushes('large'), round: LAST_ROUND })
  expect(rounds.take(pushes('small'))).toBeLessThan(LAST_ROUND)
})
