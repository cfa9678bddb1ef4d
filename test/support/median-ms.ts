/** The median of how long some runs of `work` take, one after the other, in milliseconds. */
export async function medianMs(work: () => Promise<unknown>, runs = 9) {
  const times: number[] = []
  for (let run = 0; run < runs; run++) {
    const startedAt = performance.now()
    await work()
    times.push(performance.now() - startedAt)
  }
  return times.toSorted((a, b) => a - b)[Math.floor(runs / 2)] ?? Number.POSITIVE_INFINITY
}
