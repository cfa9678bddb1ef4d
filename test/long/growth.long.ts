import { afterAll, beforeAll, expect, test } from 'vitest'
import { fillBigApp } from '../support/big/fill.ts'
import type { Operation, Operations } from '../support/big/operation.ts'
import { operationsOn } from '../support/big/operations.ts'
import { NEVER, quietTimings } from '../support/quiet.ts'
import { type Cost, costOf } from '../support/rows-read.ts'
import { operations } from '../support/validated.ts'
import { createWorld, type World } from '../support/world.ts'

/** SCALE=1 is a million users and five million messages. */
const BIG = Number(process.env.SCALE ?? 0.02)
const SMALL = BIG / 10
/** Rows that any operation may read for each row that it returns, and beside. */
const ROWS = 20
const BESIDE = 100
/** Rows for each item of `grows`: its row, its index, and what belongs to it. */
const ROWS_OF_EACH = 5
const ROUNDS = 3
/** How many times the time of the small app an operation may take in the big one. */
const MOST_TIMES = 3
/** Times below this, in milliseconds, depend more on the machine than on the operation. */
const FAST_MS = 5
/**
 * The most milliseconds of an operation. The control takes a tenth of that on an idle machine, and
 * so shows how slow this one is at the moment. The pages that an operation reads do not depend on
 * the machine.
 */
const MOST_MS = 50
const MOST_CONTROLS = 10
const PAGES_OF_ROW = 5
async function control({ pool }: World) {
  for (let sent = 0; sent < 10; sent++)
    await pool.use(
      (db) => db`
        select count(*)
        from generate_series(1, 3000)`,
    )
}
/** A slow operation is measured up to this many times: others use the machine as well. */
const MEASUREMENTS = 6

const worlds: World[] = []
const apps: Operations[] = []

beforeAll(async () => {
  for (const scale of [SMALL, BIG]) {
    const world = await createWorld({
      poolSize: 1,
      timings: { ...quietTimings, pingMs: NEVER },
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

const median = (times: number[]) =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0

type Twins = { small: Operation; big: Operation }

/** The medians of an operation on both apps, and of the control, in turn. */
async function timesOf({ small, big }: Twins, world: World) {
  const times: [number[], number[], number[]] = [[], [], []]
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, run] of [small.run, big.run, () => control(world)].entries()) {
      const startedAt = performance.now()
      await run()
      times[index]?.push(performance.now() - startedAt)
    }
  }
  const [smallMs, bigMs, controlMs] = [median(times[0]), median(times[1]), median(times[2])]
  return { smallMs, bigMs, controlMs, ratio: bigMs / smallMs }
}
type Times = Awaited<ReturnType<typeof timesOf>>

/** How many times as many items of `grows` the big app has. */
const growth = ({ small, big }: Twins) =>
  big.grows && small.grows ? big.grows.count / small.grows.count : 1

const isInTime = (twins: Twins, { bigMs, controlMs, ratio }: Times) =>
  (bigMs < FAST_MS || ratio < MOST_TIMES * growth(twins)) &&
  bigMs < Math.max(MOST_MS, MOST_CONTROLS * controlMs) * (twins.big.times ?? 1)
async function bestTimesOf(twins: Twins, world: World) {
  let best = await timesOf(twins, world)
  for (let count = 1; count < MEASUREMENTS && !isInTime(twins, best); count++) {
    const times = await timesOf(twins, world)
    if (isInTime(twins, times) || times.ratio < best.ratio) best = times
  }
  return best
}

/** Why an operation is not run. */
const notRun = {
  'service.health': 'reads no rows, and says that the database is out of reach where that is slow',
}

test('every operation of the contract is run on a big app', () => {
  const named = Object.keys(apps[1] ?? {}).flatMap((name) => name.match(/\w+\.\w+/g) ?? [])
  const known = new Set([...named, ...Object.keys(notRun)])
  expect([...known].sort()).toEqual(operations.map(([id]) => id).sort())
})

test('no operation reads more rows, or takes longer, in a ten times larger app', async () => {
  const [smallWorld, world] = worlds
  const [smallApp = {}, bigApp = {}] = apps
  if (!smallWorld || !world) throw new Error('expected two worlds')
  const table = []
  for (const [name, big] of Object.entries(bigApp)) {
    const small = smallApp[name] ?? big
    const few = await costOf(smallWorld, 'generic', { work: small.run })
    const most = mostCost({ small, big }, few)
    const cost = await costOf(world, 'generic', {
      work: big.run,
      isLittle: (cost) => kinds.every((kind) => cost[kind] <= most[kind]),
    })
    for (const kind of kinds)
      expect.soft(cost[kind], `${kind} of ${name}`).toBeLessThanOrEqual(most[kind])
    const times = await bestTimesOf({ small, big }, world)
    expect.soft(isInTime({ small, big }, times), `${name}: ${JSON.stringify(times)}`).toBe(true)
    table.push(lineOf(name, { big, few, cost, times }))
  }
  console.table(table)
}, 1_800_000)

const kinds = ['rows', 'scanned', 'pages'] as const
const mostRows = ({ returned, beside = 0, grows }: Operation) =>
  ROWS * returned + beside + BESIDE + (grows?.count ?? 0) * ROWS_OF_EACH

/** The most that an operation may read in the big app if it reads `few` in the small one. */
function mostCost(twins: Twins, few: Cost): Cost {
  const { returned, beside = 0, scans } = twins.big
  const ofSmall = 1.5 * Math.max(few.rows, beside) * growth(twins) + returned + 20
  const most = mostRows(twins.big)
  return {
    rows: Math.floor(Math.min(most, ofSmall)),
    scanned: scans ? most : 0,
    pages: PAGES_OF_ROW * most,
  }
}

type Line = { big: Operation; few: Cost; cost: Cost; times: Times }
const lineOf = (operation: string, { big, few, cost, times }: Line) => ({
  operation,
  'small rows': few.rows,
  'big rows': cost.rows,
  scanned: cost.scanned,
  pages: cost.pages,
  'small ms': Number(times.smallMs.toFixed(1)),
  'big ms': Number(times.bigMs.toFixed(1)),
  ratio: Number(times.ratio.toFixed(1)),
  grows: big.grows?.of ?? big.scans ?? '',
})
