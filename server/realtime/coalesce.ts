import { answerInHalves } from '../core/settle-batch.ts'

type Pending<Item, Result> = {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

/**
 * How long calls are collected after a batch of several, at most `eachMs` for each call of that
 * batch.
 */
type Pause = { eachMs: number; mostMs: number }

/**
 * Joins concurrent calls into batches: calls that arrive during a run are served together by the
 * next one. So a storm of reconnects costs a few large queries instead of thousands of small ones.
 * `run` returns one result for each item, in order. `sizeOf` is the part of `maxBatch` that an item
 * takes, by default 1; an item that is larger than a batch has one to itself. Items of different
 * groups share no batch, and no group waits for another. Unless `answer` says otherwise, a batch
 * that takes too long is tried in halves. A batch of several is followed by a `pause` in which more
 * are collected, however fast the answers are, unless as many wait as a batch has. Calls that come
 * one after the other, each after the answer to the last, do not wait. Items whose result
 * `isPostponed` are run again: at most `mostPostponed`, the oldest, in each batch, beside others.
 *
 * This is for reads. Writes share transactions by `http/group-commit.ts`, whose queues keep order
 * and wait for locks.
 */
export function coalesce<Item, Result>(
  run: (items: Item[], group: string) => Promise<Result[]>,
  options: CoalesceOptions<Item, Result>,
) {
  const { maxBatch, sizeOf = () => 1, groupOf = () => '', answer = answerInHalves } = options
  const { mostPostponed = 0, pause } = options
  const groups = new Map<string, Pending<Item, Result>[]>()

  /** Fills a batch: first with the oldest of the postponed calls, then with others. */
  const takeBatch = (postponed: Pending<Item, Result>[], pending: Pending<Item, Result>[]) => {
    const again = postponed.slice(0, mostPostponed)
    const next = [...again, ...pending]
    let size = 0
    const end = next.findIndex(({ item }, index) => {
      size += sizeOf(item)
      return size > maxBatch && index > 0
    })
    const batch = next.slice(0, end === -1 ? next.length : end)
    const old = batch.slice(0, again.length)
    postponed.splice(0, old.length)
    pending.splice(0, batch.length - old.length)
    return { batch, old }
  }
  const runAll = async (group: string, pending: Pending<Item, Result>[]) => {
    const postponed: Pending<Item, Result>[] = []
    while (pending.length + postponed.length > 0) {
      const { batch, old } = takeBatch(postponed, pending)
      const stillPostponed: Pending<Item, Result>[] = []
      const settled = batch.map((each) => ({
        ...each,
        resolve: (result: Result) => {
          if (!options.isPostponed?.(each.item, result)) each.resolve(result)
          else if (old.includes(each)) stillPostponed.push(each)
          else postponed.push(each)
        },
      }))
      await answer(settled, (items) => run(items, group))
      postponed.unshift(...stillPostponed)
      const isFull = pending.length >= maxBatch
      if (pause && batch.length > 1 && !isFull) await collected(batch.length, pause)
    }
    groups.delete(group)
  }
  return (item: Item) =>
    new Promise<Result>((resolve, reject) => {
      const group = groupOf(item)
      const running = groups.get(group)
      const pending = running ?? []
      pending.push({ item, resolve, reject })
      if (running) return
      groups.set(group, pending)
      setImmediate(runAll, group, pending)
    })
}

const collected = (size: number, { eachMs, mostMs }: Pause) =>
  new Promise((resolve) => {
    setTimeout(resolve, Math.min(size * eachMs, mostMs)).unref()
  })

type CoalesceOptions<Item, Result> = {
  maxBatch: number
  sizeOf?: (item: Item) => number
  groupOf?: (item: Item) => string
  /** How a batch is run and its callers are answered. */
  answer?: typeof answerInHalves
  pause?: Pause
  mostPostponed?: number
  /** Asked once for each result. */
  isPostponed?: (item: Item, result: Result) => boolean
}
