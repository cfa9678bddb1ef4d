import { createHash } from 'node:crypto'
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { copyProject } from '../support/copy.ts'
import { startTemporary } from '../support/postgres.ts'
import { type Defect, readDefects, scoreOf, withDefect, writeScore } from './list.ts'
import { createSuite, type Verdict } from './suite.ts'
import { openVerdicts } from './verdicts.ts'

/**
 * `npm run mutate`: plants the listed defects, one at a time, in copies of the project, and runs
 * the tests that must catch each. Fails if one survives that is not said to.
 */
const { values: options } = parseArgs({
  options: {
    area: { type: 'string' },
    only: { type: 'string' },
    sample: { type: 'string' },
    seed: { type: 'string' },
    jobs: { type: 'string', default: '2' },
    missing: { type: 'boolean', default: false },
  },
})

type Copy = { tree: string; suite: ReturnType<typeof createSuite> }
type Result = { defect: Defect; verdict: Verdict; seconds: number }

async function mutate() {
  const seed = Number(options.seed ?? Math.floor(Math.random() * 1_000_000))
  const all = readDefects()
  const verdicts = openVerdicts()
  const listed = selectDefects(all, { seed, wasCaught: (defect) => verdicts.of(defect) === true })
  if (listed.length === 0) throw new Error('no defect is listed under these options')
  const selected = options.missing
    ? listed.filter((defect) => verdicts.of(defect) === undefined)
    : listed
  console.log(`${selected.length} of ${listed.length} are planted`)
  if (selected.length === 0) {
    record(verdicts, all)
    return true
  }
  if (options.sample !== undefined) console.log(`Sampled with seed ${seed}`)
  const database = process.env.DATABASE_URL
    ? { url: process.env.DATABASE_URL, stop: async () => {} }
    : await startTemporary()
  cleanUp.push(database.stop)
  const copies = Array.from({ length: Number(options.jobs) }, (_, index) => {
    const tree = copyProject(join(folder, String(index + 1)))
    const suite = createSuite(tree, database.url)
    cleanUp.push(async () => suite.stop())
    return { tree, suite }
  })

  const tests = [...new Set(selected.flatMap((defect) => defect.tests))]
  await expectGreen(copies, tests)
  console.log(`${tests.length} test files are green without a defect`)

  const results: Result[] = []
  const queue = [...selected]
  const work = async (copy: Copy) => {
    for (let defect = queue.shift(); defect; defect = queue.shift()) {
      const result = await plant(copy, defect)
      if (isEnding) return
      results.push(result)
      console.log(lineOf(result))
      if (result.verdict.outcome === 'error') continue
      verdicts.record(defect, isCaught(result.verdict))
      record(verdicts, all)
    }
  }
  await Promise.all(copies.map(work))
  return report(selected, results)
}

/** Without a defect; each copy runs its share of the tests. */
async function expectGreen(copies: Copy[], tests: string[]) {
  const shares = copies.slice(0, tests.length).map(({ suite }, index) => {
    const share = tests.filter((_, at) => at % copies.length === index)
    return suite.run({ tests: share, changed: [] })
  })
  for (const { outcome, by } of await Promise.all(shares))
    if (outcome !== 'green') throw new Error(`without a defect the tests are ${outcome}: ${by}`)
}

type Selection = { seed: number; wasCaught: (defect: Defect) => boolean }

/** A sample is of those that were caught: it shows whether the tests still find them. */
function selectDefects(all: Defect[], { seed, wasCaught }: Selection) {
  const { area, sample } = options
  const only = options.only?.split(',').map((id) => (area === undefined ? id : `${area}:${id}`))
  const chosen = all.filter(
    (defect) =>
      (area === undefined || defect.area === area) &&
      (only === undefined || only.includes(defect.id)),
  )
  if (sample === undefined) return chosen
  const order = ({ id }: Defect) => createHash('sha256').update(`${seed} ${id}`).digest('hex')
  return chosen
    .filter(wasCaught)
    .sort((a, b) => (order(a) < order(b) ? -1 : 1))
    .slice(0, Number(sample))
}

async function plant({ tree, suite }: Copy, defect: Defect): Promise<Result> {
  const { tests } = defect
  const file = join(tree, defect.file)
  const text = readFileSync(file, 'utf8')
  const startedAt = performance.now()
  writeFileSync(file, withDefect(text, defect))
  const verdict = await suite.run({ tests, changed: [defect.file] })
  writeFileSync(file, text)
  return { defect, verdict, seconds: (performance.now() - startedAt) / 1000 }
}

/** A hang counts as caught: the suite does not pass with the defect. */
const isCaught = ({ outcome }: Verdict) => outcome === 'red' || outcome === 'timeout'

function lineOf({ defect, verdict, seconds }: Result) {
  const words = { green: 'SURVIVED', red: 'caught', timeout: 'caught (hangs)', error: 'NOT RUN' }
  const by = verdict.by && `, by: ${verdict.by}`
  return `${defect.id} ${words[verdict.outcome]} in ${seconds.toFixed(1)} s: ${defect.note}${by}`
}

/** Writes each verdict at once, so that a run of hundreds can be ended at any time. */
function record(verdicts: ReturnType<typeof openVerdicts>, all: Defect[]) {
  verdicts.write(all)
  writeScore(scoreOf(all, (defect) => verdicts.of(defect) === true))
}

function report(selected: Defect[], results: Result[]) {
  const caught = new Set(results.filter(({ verdict }) => isCaught(verdict)).map((r) => r.defect))
  const score = scoreOf(selected, (defect) => caught.has(defect))
  const hangs = results.filter(({ verdict }) => verdict.outcome === 'timeout')
  console.table(
    Object.entries(score).map(([area, { caught, planted }]) => ({
      area,
      planted,
      caught,
      'of them hang': hangs.filter(({ defect }) => defect.area === area).length,
      score: `${((100 * caught) / planted).toFixed(1)} %`,
    })),
  )
  const missed = results.filter(({ defect }) => !caught.has(defect))
  const unexpected = missed.filter(({ defect }) => defect.survives === undefined)
  for (const defect of caught)
    if (defect.survives !== undefined) console.log(`${defect.id} is caught now: no reason needed`)
  for (const result of unexpected) console.log(lineOf(result))
  const ids = missed.map(({ defect }) => defect.id)
  console.log(JSON.stringify({ score, survivors: ids }))
  return unexpected.length === 0
}

const PREFIX = 'parley-mutations-'
/** Removes the folders of runs that were killed. */
function removeLeftovers() {
  for (const name of readdirSync(tmpdir())) {
    const [, pid] = new RegExp(`^${PREFIX}(\\d+)-`).exec(name) ?? []
    if (pid && !isAlive(Number(pid))) rmSync(join(tmpdir(), name), { recursive: true, force: true })
  }
}
function isAlive(pid: number) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

removeLeftovers()
const folder = realpathSync(mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`)))
chmodSync(folder, 0o755) // root runs a database as another user, who must be able to enter it
// A process that was just killed may still be writing.
const removal = { recursive: true, force: true, maxRetries: 5 }
const cleanUp = [async () => rmSync(folder, removal)]
let isEnding = false
async function end(exitCode: number) {
  isEnding = true
  for (let next = cleanUp.pop(); next; next = cleanUp.pop()) await next()
  process.exit(exitCode)
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end(1))
mutate().then(
  (isClean) => end(isClean ? 0 : 1),
  (error: Error) => {
    console.error(error.message)
    return end(1)
  },
)
