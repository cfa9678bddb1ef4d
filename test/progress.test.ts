import { createProgress } from '@parley/server/commands/progress'
import { expect, onTestFinished, test, vi } from 'vitest'

test('a command says once a second how far it has come, and how fast', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const said: string[] = []
  vi.spyOn(console, 'error').mockImplementation((line) => void said.push(line))
  onTestFinished(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
  })
  const say = createProgress('lines')
  for (const count of [600, 1_200, 1_800, 2_400, 3_000]) {
    vi.advanceTimersByTime(600)
    say(count, ', 2 refused')
  }
  expect(said).toEqual([
    '1,200 lines, 1,000 a second, 2 refused',
    '2,400 lines, 1,000 a second, 2 refused',
  ])
})
