import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
export const collectGarbage = runInNewContext('gc') as () => void // by the flag

/** Bytes of this process's heap that are still in use, after a garbage collection. */
export function heapInUse() {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

/**
 * The least of some measurements, up to the first one below the bound: other work of the process,
 * such as compiling code, may look like memory that is kept.
 */
export async function leastGrowth(bound: number, measure: () => Promise<number>) {
  let least = Number.POSITIVE_INFINITY
  for (let round = 1; round <= 4 && least >= bound; round++)
    least = Math.min(least, await measure())
  return least
}

const CALLS = 20_000

/** How many bytes each of many calls keeps, or fewer than the bound, once the last has settled. */
export const keptPerCall = (
  bound: number,
  { call, settled = async () => {} }: { call: () => void; settled?: () => Promise<unknown> },
) =>
  leastGrowth(bound, async () => {
    const before = heapInUse()
    for (let count = 0; count < CALLS; count++) call()
    await settled()
    return (heapInUse() - before) / CALLS
  })
