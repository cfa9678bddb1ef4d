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

/**
 * The same, for statements that grow with what an item asks for. A batch that takes too long is run
 * again in halves, so that the items beside the one that caused it succeed. If both halves take too
 * long, the database is slow, and is not asked again.
 */
export async function settleInHalves<Item, Result>(
  items: Item[],
  run: (items: Item[]) => Promise<Result[]>,
): Promise<PromiseSettledResult<Result>[]> {
  const settled = await settleBatch(items, run)
  return isTooLong(settled) ? runInHalves(items, run, settled) : settled
}

async function runInHalves<Item, Result>(
  items: Item[],
  run: (items: Item[]) => Promise<Result[]>,
  settled: PromiseSettledResult<Result>[],
): Promise<PromiseSettledResult<Result>[]> {
  if (items.length === 1) return settled
  const middle = Math.ceil(items.length / 2)
  const [first, second] = [items.slice(0, middle), items.slice(middle)]
  const [ofFirst, ofSecond] = [await settleBatch(first, run), await settleBatch(second, run)]
  if (isTooLong(ofFirst) && isTooLong(ofSecond)) return [...ofFirst, ...ofSecond]
  return [
    ...(isTooLong(ofFirst) ? await runInHalves(first, run, ofFirst) : ofFirst),
    ...(isTooLong(ofSecond) ? await runInHalves(second, run, ofSecond) : ofSecond),
  ]
}

const isTooLong = (settled: PromiseSettledResult<unknown>[]) =>
  settled.length > 0 &&
  settled.every((each) => each.status === 'rejected' && isStatementTimeout(each.reason))

type Waiting<Result> = { resolve: (result: Result) => void; reject: (error: unknown) => void }

/** Settles the promise of each item of a batch. */
export function answerAll<Result>(
  waiting: readonly Waiting<Result>[],
  settled: PromiseSettledResult<Result>[],
) {
  for (const [index, { resolve, reject }] of waiting.entries()) {
    const result = settled[index]
    if (result?.status === 'fulfilled') resolve(result.value)
    else reject(result?.reason)
  }
}
