import { onTestFinished, vi } from 'vitest'

/**
 * A clock that can be put forward: the client's actions until then happen now, in order.
 * Timers stay real, so that none is lost when the test ends. Those of the server in the same
 * process are left alone, and its clocks as well.
 */
export function openClock() {
  const { setTimeout: set, clearTimeout: clear } = globalThis
  const { now } = Date
  const monotonic = performance.now.bind(performance)
  const pending = new Map<unknown, { due: number; fire: () => void }>()
  let ahead = 0
  const isClient = () => /client-sdk/.test(new Error().stack ?? '')
  const aheadOfCaller = () => (isClient() ? ahead : 0)
  const setTimer = (callback: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) => {
    const fire = () => {
      pending.delete(timer)
      callback(...given)
    }
    const timer = set(fire, ms)
    if (isClient()) pending.set(timer, { due: now() + ahead + ms, fire })
    return timer
  }
  const clearTimer = (timer: NodeJS.Timeout | undefined) => {
    pending.delete(timer)
    clear(timer)
  }
  const mocks = [
    vi.spyOn(Date, 'now').mockImplementation(() => now() + aheadOfCaller()),
    vi.spyOn(performance, 'now').mockImplementation(() => monotonic() + aheadOfCaller()),
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(setTimer as typeof setTimeout),
    vi.spyOn(globalThis, 'clearTimeout').mockImplementation(clearTimer as typeof clearTimeout),
  ]
  onTestFinished(() => {
    for (const mock of mocks) mock.mockRestore()
  })

  const firstUntil = (end: number) =>
    [...pending].filter(([, { due }]) => due <= end).sort(([, a], [, b]) => a.due - b.due)[0]
  return {
    forward: async (ms: number) => {
      await new Promise(setImmediate)
      const end = now() + ahead + ms
      for (let next = firstUntil(end); next; next = firstUntil(end)) {
        const [timer, { due, fire }] = next
        ahead = Math.max(ahead, due - now())
        clear(timer as NodeJS.Timeout)
        fire()
        await new Promise(setImmediate)
      }
      ahead = Math.max(ahead, end - now())
    },
  }
}

/**
 * Stops the clock that durations are measured by, until the test ends: what the server has cached
 * does not expire, however slow the machine is. Timers go on.
 */
export function stopClock() {
  // Whole milliseconds, or what is put forward by 5,000 may be 4,999.999 later.
  const now = Math.ceil(performance.now())
  const mock = vi.spyOn(performance, 'now').mockReturnValue(now)
  onTestFinished(() => mock.mockRestore())
  return { putForward: (ms: number) => void mock.mockReturnValue(now + ms) }
}
