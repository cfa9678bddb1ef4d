import { onTestFinished, vi } from 'vitest'
import { quiet } from './index.ts'

/** Timers and clocks that stand still until they are put forward. Promises go on as usual. */
export function stoppedClock() {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
    now: Date.UTC(2026, 0, 2),
  })
  const timers = watchTimers()
  onTestFinished(() => {
    timers.stop()
    vi.useRealTimers()
  })
  return {
    forward: async (ms: number) => {
      await quiet()
      await vi.advanceTimersByTimeAsync(ms)
      await quiet()
    },
    /** How many timers of the client are running. */
    timers: () => timers.running.size,
    /** Sets the clock of the device; the time that passes is the same. */
    set: (ms: number) => vi.setSystemTime(Date.now() + ms),
  }
}

/**
 * The timers of this project that are running. Others in this process have timers, too: those of
 * libraries that an earlier file of this worker has used.
 */
function watchTimers() {
  const running = new Set<unknown>()
  const mocks = (['setTimeout', 'setInterval'] as const).map((name) => {
    const { [name]: begin } = globalThis
    const watched = (callback: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) => {
      const fire = () => {
        if (name === 'setTimeout') running.delete(timer)
        callback(...given)
      }
      const timer = begin(fire, ms)
      if (isOurs(new Error().stack)) running.add(timer)
      return timer
    }
    return vi.spyOn(globalThis, name).mockImplementation(watched as typeof begin) // the same
  })
  const ends = (['clearTimeout', 'clearInterval'] as const).map((name) => {
    const { [name]: end } = globalThis
    return vi.spyOn(globalThis, name).mockImplementation((timer) => {
      running.delete(timer)
      end(timer)
    })
  })
  const stop = () => {
    for (const mock of [...mocks, ...ends]) mock.mockRestore()
  }
  return { running, stop }
}

/** Whether the timer was started by a file of ours, and not by a library. */
const isOurs = (stack = '') =>
  stack
    .split('\n')
    .some((line) => /\/(client-sdk|server)\//.test(line) && !/node_modules/.test(line))
