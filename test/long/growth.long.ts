import { expect, test } from 'vitest'
import { fillBigApp } from '../support/big/fill.ts'
import { type Operation, operationsOn } from '../support/big/operations.ts'
import { rowsReadBy, rowsScannedBy } from '../support/rows-read.ts'
import { createWorld } from '../support/world.ts'

/** SCALE=1 is a million users and five million messages. */
const BIG = Number(process.env.SCALE ?? 0.02)
const SMALL = BIG / 10
/** Rows that any operation may read beside 20 for each row that it returns. */
const BESIDE = 100
type Cost = { rows: number; scanned: number; ms: number; operation: Operation }

async function measure(scale: number) {
  const world = await createWorld({
    poolSize: 1,
    timings: { reconcileMs: 1_000_000, beatMs: 1_000_000, lookMs: 1_000_000, pingMs: 1_000_000 },
  })
  try {
    await world.users('ana', 'ben', 'busy')
    const started = performance.now()
    const app = await fillBigApp(world.databaseUrl, { appId: world.appId, scale })
    console.info(
      `filled at scale ${scale} in ${Math.round((performance.now() - started) / 1000)} s`,
    )
    const costs = new Map<string, Cost>()
    for (const [name, operation] of Object.entries(await operationsOn(world, app))) {
      const rows = await rowsReadBy(world, 'generic', operation.run)
      const scanned = await rowsScannedBy(world, operation.run)
      costs.set(name, { rows, scanned, ms: await medianMs(operation.run), operation })
    }
    return costs
  } finally {
    await world.stop()
  }
}

async function medianMs(run: () => Promise<unknown>) {
  const times: number[] = []
  for (let round = 0; round < 5; round++) {
    const started = performance.now()
    await run()
    times.push(performance.now() - started)
  }
  return times.toSorted((a, b) => a - b)[2] ?? 0
}

test('no operation reads more rows in a ten times larger app', async () => {
  const small = await measure(SMALL)
  const big = await measure(BIG)
  const table = [...big].map(([operation, { rows, scanned, ms }]) => {
    const before = small.get(operation)
    const [smallRows, smallMs] = [before?.rows ?? 0, before?.ms ?? 0]
    return {
      operation,
      'small rows': smallRows,
      'big rows': rows,
      scanned,
      'small ms': Number(smallMs.toFixed(1)),
      'big ms': Number(ms.toFixed(1)),
      ratio: Number((ms / smallMs).toFixed(1)),
    }
  })
  console.table(table)
  for (const [name, { rows, scanned, operation }] of big) {
    const { returned, beside = 0, grows } = operation
    expect.soft(scanned, `${name} scans tables`).toBe(0)
    if (grows) continue
    const before = Math.max(small.get(name)?.rows ?? 0, beside)
    expect.soft(rows, name).toBeLessThanOrEqual(20 * returned + beside + BESIDE)
    expect.soft(rows, `${name}, small and big`).toBeLessThanOrEqual(1.5 * before + 20)
  }
}, 1_800_000)
