import { Sessions } from '@parley/server/realtime/sessions'
import { expect, onTestFinished, test, vi } from 'vitest'

test('sessions are closed in the second half of the time, evenly spread', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const sessions = new Sessions()
  const startedAt = performance.now()
  const closedAt: number[] = []
  for (const userId of ['ana', 'ben', 'cem']) {
    const close = () => void closedAt.push(performance.now() - startedAt)
    sessions.add({ appId: 'app', userId, generation: 0, topics: [], close })
  }
  sessions.drainLate(1_800)
  await vi.advanceTimersByTimeAsync(1_800)
  expect(closedAt).toEqual([900, 1_200, 1_500])
})
