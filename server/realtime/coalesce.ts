type Pending<Item, Result> = {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

/**
 * Joins concurrent calls into batches: calls that arrive during a run are served together by the
 * next one. So a storm of reconnects costs a few large queries instead of thousands of small ones.
 * `run` returns one result for each item, in order.
 */
export function coalesce<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
  { maxBatch }: { maxBatch: number },
) {
  let pending: Pending<Item, Result>[] = []
  let isRunning = false

  const runBatch = async (batch: Pending<Item, Result>[]) => {
    try {
      const results = await run(batch.map(({ item }) => item))
      for (const [index, { resolve }] of batch.entries()) {
        resolve(results[index] as Result) // one result for each item
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
  const runAll = async () => {
    while (pending.length > 0) {
      const batch = pending.slice(0, maxBatch)
      pending = pending.slice(maxBatch)
      await runBatch(batch)
    }
    isRunning = false
  }
  return (item: Item) =>
    new Promise<Result>((resolve, reject) => {
      pending.push({ item, resolve, reject })
      if (isRunning) return
      isRunning = true
      setImmediate(runAll)
    })
}
