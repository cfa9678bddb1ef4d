import { answerInHalves } from '../core/settle-batch.ts'

type Pending<Item, Result> = {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

/**
 * Joins concurrent calls into batches: calls that arrive during a run are served together by the
 * next one. So a storm of reconnects costs a few large queries instead of thousands of small ones.
 * `run` returns one result for each item, in order. `sizeOf` is the part of `maxBatch` that an item
 * takes, by default 1; an item that is larger than a batch has one to itself. Items of different
 * lanes share no batch, and no lane waits for another. Unless `answer` says otherwise, a batch that
 * takes too long is tried in halves.
 */
export function coalesce<Item, Result>(
  run: (items: Item[], lane: string) => Promise<Result[]>,
  { maxBatch, sizeOf = () => 1, laneOf = () => '', answer = answerInHalves }: CoalesceOptions<Item>,
) {
  const lanes = new Map<string, Pending<Item, Result>[]>()

  const takeBatch = (pending: Pending<Item, Result>[]) => {
    let size = 0
    const end = pending.findIndex(({ item }, index) => {
      size += sizeOf(item)
      return size > maxBatch && index > 0
    })
    return pending.splice(0, end === -1 ? pending.length : end)
  }
  const runAll = async (lane: string, pending: Pending<Item, Result>[]) => {
    while (pending.length > 0) {
      await answer(takeBatch(pending), (items) => run(items, lane))
    }
    lanes.delete(lane)
  }
  return (item: Item) =>
    new Promise<Result>((resolve, reject) => {
      const lane = laneOf(item)
      const running = lanes.get(lane)
      const pending = running ?? []
      pending.push({ item, resolve, reject })
      if (running) return
      lanes.set(lane, pending)
      setImmediate(runAll, lane, pending)
    })
}

type CoalesceOptions<Item> = {
  maxBatch: number
  sizeOf?: (item: Item) => number
  laneOf?: (item: Item) => string
  /** How a batch is run and its callers are answered. */
  answer?: typeof answerInHalves
}
