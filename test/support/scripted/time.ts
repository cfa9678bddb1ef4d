import { onTestFinished, vi } from 'vitest'
import { quiet } from './index.ts'

/** Timers and clocks that stand still until they are put forward. Promises go on as usual. */
export function stoppedClock() {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
    now: Date.UTC(2026, 0, 2),
  })
  onTestFinished(() => void vi.useRealTimers())
  return {
    forward: async (ms: number) => {
      await quiet()
      await vi.advanceTimersByTimeAsync(ms)
      await quiet()
    },
    /** How many timers are running. */
    timers: () => vi.getTimerCount(),
    /** Sets the clock of the device; the time that passes is the same. */
    set: (ms: number) => vi.setSystemTime(Date.now() + ms),
  }
}
