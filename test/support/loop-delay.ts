import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** The longest time in milliseconds for which this process answered nobody during the work. */
export async function longestDelay(work: () => Promise<unknown>) {
  const histogram = monitorEventLoopDelay({ resolution: 5 })
  histogram.enable()
  await work()
  // The histogram notes a delay when it is over.
  for (let turn = 0; turn < 3; turn++) await nextTurn()
  histogram.disable()
  return histogram.max / 1e6
}
