import { afterAll, beforeAll, expect, test } from 'vitest'
import { fillBigApp } from '../support/big/fill.ts'
import { type Operation, operationsOn } from '../support/big/operations.ts'
import { rowsReadBy, rowsScannedBy } from '../support/rows-read.ts'
import { createWorld, type World } from '../support/world.ts'

/** SCALE=1 is a million users and five million messages. */
const BIG = Number(process.env.SCALE ?? 0.02)
const SMALL = BIG / 10
/** Rows that any operation may read beside 20 for each row that it returns. */
const BESIDE = 100
const ROUNDS = 9
/** How many times the time of the small app an operation may take in the big one. */
const MOST_TIMES = 3
/** Below this, in milliseconds, the machine says more than the operation. */
const FAST_MS = 5
/** What took longer is measured again, up to so many times: others use the machine as well. */
const MEASUREMENTS = 3

const never = 1_000_000_000
const worlds: World[] = []
const apps: Record<string, Operation>[] = []

beforeAll(async () => {
  for (const scale of [SMALL, BIG]) {
    const world = await createWorld({
      poolSize: 1,
      timings: { reconcileMs: never, beatMs: never, lookMs: never, pingMs: never },
    })
    worlds.push(world)
    await world.users('ana', 'ben', 'busy')
    const started = performance.now()
    const app = await fillBigApp(world.databaseUrl, { appId: world.appId, scale })
    const seconds = Math.round((performance.now() - started) / 1000)
    console.info(`filled at scale ${scale} in ${seconds} s`)
    apps.push(await operationsOn(world, app))
  }
}, 1_800_000)
afterAll(async () => {
  for (const world of worlds) await world.stop()
}, 120_000)

type Cost = { rows: number; scanned: number }
async function costOf(world: World, { run }: Operation): Promise<Cost> {
  const rows = await rowsReadBy(world, 'generic', run)
  return { rows, scanned: await rowsScannedBy(world, run) }
}

const median = (times: number[]) =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0

/** The medians of an operation on both apps, in turn: what slows the machine slows both. */
async function timesOf(small: Operation, big: Operation) {
  const times: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, { run }] of [small, big].entries()) {
      const startedAt = performance.now()
      await run()
      times[index]?.push(performance.now() - startedAt)
    }
  }
  const [smallMs, bigMs] = [median(times[0]), median(times[1])]
  return { smallMs, bigMs, ratio: bigMs / smallMs }
}
type Times = Awaited<ReturnType<typeof timesOf>>

const isFast = ({ bigMs, ratio }: Times) => bigMs < FAST_MS || ratio < MOST_TIMES
async function bestTimesOf(small: Operation, big: Operation) {
  let best = await timesOf(small, big)
  for (let count = 1; count < MEASUREMENTS && !big.grows && !isFast(best); count++) {
    const times = await timesOf(small, big)
    if (times.ratio < best.ratio) best = times
  }
  return best
}

test('no operation reads more rows, or takes longer, in a ten times larger app', async () => {
  const [smallWorld, bigWorld] = worlds
  const [smallApp = {}, bigApp = {}] = apps
  if (!smallWorld || !bigWorld) throw new Error('expected two worlds')
  const table = []
  for (const [name, operation] of Object.entries(bigApp)) {
    const twin = smallApp[name] ?? operation
    const [small, big] = [await costOf(smallWorld, twin), await costOf(bigWorld, operation)]
    const times = await bestTimesOf(twin, operation)
    table.push({
      operation: name,
      'small rows': small.rows,
      'big rows': big.rows,
      scanned: big.scanned,
      'small ms': Number(times.smallMs.toFixed(1)),
      'big ms': Number(times.bigMs.toFixed(1)),
      ratio: Number(times.ratio.toFixed(1)),
      grows: operation.grows ?? '',
    })
    const { returned, beside = 0, grows } = operation
    expect.soft(big.scanned, `${name} scans tables`).toBe(0)
    if (grows) continue
    const before = Math.max(small.rows, beside)
    expect.soft(big.rows, name).toBeLessThanOrEqual(20 * returned + beside + BESIDE)
    expect.soft(big.rows, `${name}, small and big`).toBeLessThanOrEqual(1.5 * before + 20)
    expect.soft(isFast(times), `${name}: ${JSON.stringify(times)}`).toBe(true)
  }
  console.table(table)
}, 1_800_000)
