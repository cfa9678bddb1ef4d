import { createTouches } from '@parley/server/core/touches'
import { expect, onTestFinished, test, vi } from 'vitest'

test('each write has the keys used since the last one, each key once a minute', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const written: string[][] = []
  const write = async (keys: string[]) => void written.push(keys)
  const { touch } = createTouches<string>({ keyOf: (key) => key, entries: 10, write })
  for (const key of ['first', 'second', 'first']) touch(key)
  await vi.advanceTimersByTimeAsync(5_000)
  for (const key of ['first', 'third']) touch(key)
  await vi.advanceTimersByTimeAsync(5_000)
  expect(written).toEqual([['first', 'second'], ['third']])
})
