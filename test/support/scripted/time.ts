import { AsyncLocalStorage } from 'node:async_hooks'
import { onTestFinished, vi } from 'vitest'
import { expectNoWorld } from '../open-worlds.ts'
import { quiet } from './index.ts'

/** Timers and clocks that stand still until they are put forward. Promises go on as usual. */
export function stoppedClock() {
  expectNoWorld()
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
    now: Date.UTC(2026, 0, 2),
  })
  // Timers of this test only: an earlier file of this worker may have left some running.
  const context = new AsyncLocalStorage<true>()
  context.enterWith(true)
  const running = watchTimers(() => context.getStore() === true)
  onTestFinished(() => {
    vi.useRealTimers()
    context.disable()
  })
  return {
    forward: async (ms: number) => {
      await quiet()
      await vi.advanceTimersByTimeAsync(ms)
      await quiet()
    },
    /** The number of running timers of this project that the test started, even indirectly. */
    timers: () => running.size,
    /** Sets the clock of the device; the time that passes is the same. */
    set: (ms: number) => vi.setSystemTime(Date.now() + ms),
  }
}

/**
 * The timers of this project that are running. Others in this process have timers, too: those of
 * libraries that an earlier file of this worker has used. Lasts as long as the stopped clock: with
 * their properties, which say so, these functions are taken away like those that they call.
 */
function watchTimers(isOfTest: () => boolean) {
  const running = new Set<unknown>()
  for (const name of ['setTimeout', 'setInterval'] as const) {
    const { [name]: begin } = globalThis
    const watched = (callback: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) => {
      // As real timers do, it fires in the context that it was begun in, not in that of the test.
      const call = AsyncLocalStorage.bind(callback)
      const fire = () => {
        if (name === 'setTimeout') running.delete(timer)
        call(...given)
      }
      const timer = begin(fire, ms)
      if (isOfTest() && isOurs(new Error().stack)) running.add(timer)
      return timer
    }
    globalThis[name] = Object.assign(watched, begin) as typeof setTimeout & typeof setInterval
  }
  for (const name of ['clearTimeout', 'clearInterval'] as const) {
    const { [name]: end } = globalThis
    const watched: typeof end = (timer) => {
      running.delete(timer)
      end(timer)
    }
    globalThis[name] = Object.assign(watched, end)
  }
  return running
}

/** Whether the timer was started by a file of ours, and not by a library. */
const isOurs = (stack = '') =>
  stack
    .split('\n')
    .some((line) => /\/(client-sdk|server)\//.test(line) && !/node_modules/.test(line))
