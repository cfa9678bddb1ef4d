import { onTestFinished, vi } from 'vitest'

/**
 * Answers how many timers wait that the code of a file has set since, until the test ends. Others
 * in this process may set theirs meanwhile.
 */
export function watchTimers(file: string) {
  const { setTimeout: set, clearTimeout: clear } = globalThis
  const waiting = new Set<unknown>()
  const setTimer = (callback: () => void, milliseconds?: number) => {
    const timer = set(() => {
      waiting.delete(timer)
      callback()
    }, milliseconds)
    if (new Error().stack?.includes(`/${file}`)) waiting.add(timer)
    return timer
  }
  const clearTimer = (timer: NodeJS.Timeout | undefined) => {
    waiting.delete(timer)
    clear(timer)
  }
  const mocks = [
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(setTimer as typeof setTimeout),
    vi.spyOn(globalThis, 'clearTimeout').mockImplementation(clearTimer as typeof clearTimeout),
  ]
  onTestFinished(() => {
    for (const mock of mocks) mock.mockRestore()
  })
  return () => waiting.size
}
