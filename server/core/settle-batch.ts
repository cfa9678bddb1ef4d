import { isDatabaseUnavailable, isStatementTimeout } from '../db/client.ts'

/**
 * Runs items of different callers as one batch; `run` returns one result per item, in order. If
 * the batch fails, each item is run alone, so that only the item that caused it fails. A database
 * that is out of reach is not asked again.
 */
export async function settleBatch<Item, Result>(
  items: Item[],
  run: (items: Item[]) => Promise<Result[]>,
): Promise<PromiseSettledResult<Result>[]> {
  try {
    const results = await run(items)
    return results.map((value) => ({ status: 'fulfilled', value }))
  } catch (reason) {
    if (items.length === 1 || isDatabaseUnavailable(reason))
      return items.map(() => ({ status: 'rejected', reason }))
    const settled = []
    for (const item of items) settled.push(...(await settleBatch([item], run)))
    return settled
  }
}

type Deferred<Result> = { resolve: (result: Result) => void; reject: (error: unknown) => void }
type WaitingItem<Item, Result> = Deferred<Result> & { item: Item }
type RunBatch<Item, Result> = (items: Item[]) => Promise<Result[]>

/** For how long a batch is tried again in halves. Callers that still wait are then refused. */
const HALVING_MS = 10_000

/** Runs the items of a batch as `settleBatch` does, and answers their callers. */
export async function answerBatch<Item, Result>(
  batch: WaitingItem<Item, Result>[],
  run: RunBatch<Item, Result>,
) {
  answerAll(batch, await settleItems(batch, run))
}

/**
 * Like `settleBatch`, for statements that grow with what an item asks for. A batch that takes too
 * long is run again in halves, so that the items beside the one that caused it succeed, each half
 * as soon as it can. If both halves take too long, the database is slow, and is not asked again.
 */
export async function answerInHalves<Item, Result>(
  batch: WaitingItem<Item, Result>[],
  run: RunBatch<Item, Result>,
) {
  const until = performance.now() + HALVING_MS
  const settled = await settleItems(batch, run)
  if (!isTooLong(settled)) return answerAll(batch, settled)
  let slow = batch
  while (slow.length > 1 && performance.now() < until) {
    const middle = Math.ceil(slow.length / 2)
    const tooLong: (typeof batch)[] = []
    for (const half of [slow.slice(0, middle), slow.slice(middle)]) {
      const ofHalf = await settleItems(half, run)
      if (isTooLong(ofHalf)) tooLong.push(half)
      else answerAll(half, ofHalf)
    }
    const isSlowForAll = tooLong.length === 2
    if (isSlowForAll) break
    slow = tooLong.flat()
  }
  answerAll(slow, settled)
}

/** Like `answerInHalves`, for a caller who waits for all items: one result each, in order. */
export async function settleInHalves<Item, Result>(
  items: Item[],
  run: RunBatch<Item, Result>,
): Promise<PromiseSettledResult<Result>[]> {
  const batch: WaitingItem<Item, Result>[] = []
  const settled = Promise.allSettled(
    items.map(
      (item) => new Promise<Result>((resolve, reject) => batch.push({ item, resolve, reject })),
    ),
  )
  await answerInHalves(batch, run)
  return settled
}

const settleItems = <Item, Result>(
  batch: WaitingItem<Item, Result>[],
  run: RunBatch<Item, Result>,
) =>
  settleBatch(
    batch.map(({ item }) => item),
    run,
  )

const isTooLong = (settled: PromiseSettledResult<unknown>[]) =>
  settled.length > 0 &&
  settled.every((each) => each.status === 'rejected' && isStatementTimeout(each.reason))

/** Settles the promise of each item of a batch. */
export function answerAll<Result>(
  waiting: readonly Deferred<Result>[],
  settled: PromiseSettledResult<Result>[],
) {
  for (const [index, { resolve, reject }] of waiting.entries()) {
    const result = settled[index]
    if (result?.status === 'fulfilled') resolve(result.value)
    else reject(result?.reason)
  }
}
