/**
 * Combines concurrent calls into batches: calls that arrive while a batch is running wait for the
 * next one. A storm of reconnects becomes a few large queries instead of thousands of small ones.
 * The first batch waits for the end of the current turn of the event loop, to collect more calls.
 */
export function coalesce<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
  { most }: { most: number },
) {
  let waiting: Entry<Item, Result>[] = []
  let isRunning = false

  const drain = async () => {
    while (waiting.length > 0) {
      const entries = waiting.slice(0, most)
      waiting = waiting.slice(most)
      try {
        const results = await run(entries.map(({ item }) => item))
        entries.forEach(({ resolve }, index) => {
          resolve(results[index] as Result) // `run` returns one result an item
        })
      } catch (error) {
        for (const { reject } of entries) reject(error)
      }
    }
    isRunning = false
  }
  return (item: Item) =>
    new Promise<Result>((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (isRunning) return
      isRunning = true
      setImmediate(drain)
    })
}

type Entry<Item, Result> = {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}
