/**
 * Joins calls into one: who calls while a run is under way is served by the next, together with all who came meanwhile.
 * So a storm of reconnects asks the database a few large questions instead of thousands of small ones.
 */
export function coalesce<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
  { most }: { most: number },
) {
  let waiting: {
    item: Item
    settle: (outcome: { result: Result } | { error: unknown }) => void
  }[] = []
  let isRunning = false

  const serve = async () => {
    isRunning = true
    while (waiting.length > 0) {
      const batch = waiting.slice(0, most)
      waiting = waiting.slice(most)
      try {
        const results = await run(batch.map(({ item }) => item))
        batch.forEach(({ settle }, place) => {
          settle({ result: results[place] as Result }) // one result an item, in order
        })
      } catch (error) {
        for (const { settle } of batch) settle({ error })
      }
    }
    isRunning = false
  }
  return (item: Item) =>
    new Promise<Result>((resolve, reject) => {
      waiting.push({
        item,
        settle: (outcome) => ('error' in outcome ? reject(outcome.error) : resolve(outcome.result)),
      })
      if (!isRunning) {
        isRunning = true
        setImmediate(serve)
      }
    })
}
