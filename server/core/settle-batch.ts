import { isDatabaseUnavailable } from '../db/client.ts'

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
