import { PausedRuns } from '@parley/server/realtime/unread/paused-runs'
import { expect, test } from 'vitest'
import { stoppedClock } from '../../support/scripted/time.ts'

test('a failure after a success is retried after a short pause', async () => {
  const clock = stoppedClock()
  const outcomes = ['fails', 'fails', 'fails', 'works', 'fails', 'works']
  const startedAt = performance.now()
  const ranAt: number[] = []
  const runs = new PausedRuns({
    pauseMs: 0,
    work: async () => {
      ranAt.push(Math.round((performance.now() - startedAt) / 1_000))
      if (outcomes.shift() === 'fails') throw new Error('away')
    },
    isDue: () => outcomes.length > 0,
    onFailure: () => {},
  })
  runs.schedule()
  for (let second = 0; second < 20; second++) await clock.forward(1_000)
  expect(ranAt).toEqual([0, 1, 3, 7, 7, 8])
})
