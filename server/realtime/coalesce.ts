import { answerAll, settleBatch } from '../core/settle-batch.ts'

type Pending<Item, Result> = {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

/**
 * Joins concurrent calls into batches: calls that arrive during a run are served together by the
 * next one. So a storm of reconnects costs a few large queries instead of thousands of small ones.
 * `run` returns one result for each item, in order. `sizeOf` is the part of `maxBatch` that an item
 * takes, by default 1; an item that is larger than a batch has one to itself.
 */
export function coalesce<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
  { maxBatch, sizeOf = () => 1 }: { maxBatch: number; sizeOf?: (item: Item) => number },
) {
  const pending: Pending<Item, Result>[] = []
  let isRunning = false

  const takeBatch = () => {
    let size = 0
    const end = pending.findIndex(({ item }, index) => {
      size += sizeOf(item)
      return size > maxBatch && index > 0
    })
    return pending.splice(0, end === -1 ? pending.length : end)
  }
  const runAll = async () => {
    while (pending.length > 0) {
      const batch = takeBatch()
      const items = batch.map(({ item }) => item)
      answerAll(batch, await settleBatch(items, run))
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
