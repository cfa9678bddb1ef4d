import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type CoverageV8Options, type TestSpecification } from 'vitest/node'
import { heavy } from './heavy.ts'

const repository = join(import.meta.dirname, '..')

/** Files that look at what all others have done. */
const last = ['sql.test.ts', 'plans.test.ts']

/** Files that take long, the longest first: no worker waits for them at the end. */
export const slow = [
  'long/hostile-flood.long.ts',
  'long/bench.long.ts',
  'long/hostile.long.ts',
  'long/noun.long.ts',
  'long/sdk.long.ts',
  'long/realtime.long.ts',
  'long/history.long.ts',
  'long/imports-waits.long.ts',
  'long/packages.long.ts',
  'long/growth.long.ts',
  'long/generated.long.ts',
  'long/image.long.ts',
  'long/worker-processes.long.ts',
  'long/conversation.long.ts',
  'long/rolling.long.ts',
  'long/imports.long.ts',
  'long/lost-connections.long.ts',
  'long/opentelemetry.long.ts',
  'long/first-start.long.ts',
  'long/events-day.long.ts',
  'long/app-files.long.ts',
  'long/outage.long.ts',
  'long/http-stream.long.ts',
  'long/sse.long.ts',
  'browser/bot.browser.ts',
  'browser/app.browser.ts',
  'realtime/broker.test.ts',
  'rights/operations.test.ts',
  'declared-queries.test.ts',
  'realtime/protocol/streams.test.ts',
  'realtime/protocol/connect.test.ts',
  'sdk/blocked-sockets.test.ts',
  'realtime/missed.test.ts',
  'realtime/faults.test.ts',
  'realtime/unread.test.ts',
  'push-provider.test.ts',
  'lock-waits.test.ts',
]
const placeOf = ({ moduleId }: TestSpecification) => {
  const index = slow.findIndex((name) => moduleId.endsWith(`/${name}`))
  return index < 0 ? slow.length : index
}
/** Files that share a server come one after the other: a worker that runs another stops it. */
const sharingFirst = (files: TestSpecification[]) => {
  const sharing = files.filter(({ moduleId }) => SHARES.test(readFileSync(moduleId, 'utf8')))
  return [...sharing, ...files.filter((file) => !sharing.includes(file))]
}
const SHARES = /\buseSharedWorld\(/

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const sorted = sharingFirst(await super.sort(files))
    return byProject(sorted.toSorted((one, other) => placeOf(one) - placeOf(other)))
  }
}
/**
 * Files of a project follow each other: a worker whose next file is of another project ends, and
 * the one that takes its place loads all modules again.
 */
function byProject(files: TestSpecification[]) {
  const projects = new Set(files.map(({ project }) => project))
  return [...projects].flatMap((project) => files.filter((file) => file.project === project))
}
/**
 * Any order, except that files of a project stay together, and so do those that share a server. Of
 * the last quarter, those that take long come first of all.
 */
class Shuffled extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const drawnFirst = [...files].sort((one, other) => (drawn(one) < drawn(other) ? -1 : 1))
    const isReversed = Number(seed) % 2 === 1
    const shuffled = isReversed ? sharingFirst(drawnFirst).reverse() : sharingFirst(drawnFirst)
    const isLate = (file: TestSpecification, index: number) =>
      placeOf(file) < slow.length && index >= files.length * 0.75
    const others = shuffled.filter((file, index) => !isLate(file, index))
    return byProject([...shuffled.filter(isLate), ...others])
  }
}
const drawn = ({ moduleId }: TestSpecification) =>
  createHash('sha256')
    .update(`${seed} ${relative(import.meta.dirname, moduleId)}`)
    .digest('hex')

/** SHUFFLE_SEED=1 runs files and tests in an order that the seed decides. */
const seed = process.env.SHUFFLE_SEED
const sequence =
  seed === undefined
    ? { sequencer: SlowFirst }
    : { sequencer: Shuffled, shuffle: { files: true, tests: true }, seed: Number(seed) }

const resolve = { conditions: ['parley-source', 'node'] }
export const everywhere = {
  root: import.meta.dirname,
  ssr: { resolve },
  // The global setup runs in this environment.
  environments: { __vitest__: { resolve } },
}
/** Once for all projects of a run. */
export const globalSetup = [join(import.meta.dirname, 'support/setup.ts')]

export const tests = {
  pool: 'forks' as const,
  // The modules that a worker has imported serve all the files that it runs.
  isolate: false,
  // Most objects of a test are soon of no use: with more room for them, fewer are copied.
  execArgv: ['--max-semi-space-size=64'],
  sequence,
  // The limits are generous: late on a busy machine is no failure, what never comes is one.
  testTimeout: 180_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 60_000 } },
}

/**
 * Folders of the code that tests run in their own processes: `npm run coverage`. Programs and the
 * embedded PostgreSQL run in child processes, which are not measured; pages are tested in a
 * browser.
 */
const measured = [
  'server/features',
  'server/realtime',
  'server/http',
  'server/jobs',
  'server/core',
  'client-sdk',
]
const coverage: CoverageV8Options = {
  provider: 'v8',
  include: measured.map((folder) => `${folder}/**/*.ts`),
  exclude: [
    '**/*.d.ts',
    '**/client-sdk/{console,dist,docs,playground,react}/**',
    '**/client-sdk/{scripts/*,generated/types}.ts',
    // Only a whole server, which is another process, serves these.
    '**/http/playground*.ts',
    // Programs with a setting of where to send spans load these: long/opentelemetry.long.ts.
    ...['opentelemetry', 'database-spans'].map((name) => `**/server/core/${name}.ts`),
    // Types only.
    ...['calls/call-options', 'custom'].map((name) => `**/client-sdk/${name}.ts`),
    '**/server/jobs/push/settings.ts',
    '**/server/realtime/node.ts',
  ],
  reportOnFailure: true,
  reporter: [['text', { skipFull: true }]],
  thresholds: Object.fromEntries(measured.map((folder) => [`${folder}/**`, { lines: 95 }])),
}

export default defineConfig({
  ...everywhere,
  // Files that no test loads count as well: only what is below this folder is read for that.
  root: repository,
  test: {
    ...tests,
    coverage,
    globalSetup,
    // More than cores: many tests wait for timers, other processes or the database.
    maxWorkers: 5,
    projects: [
      {
        ...everywhere,
        test: {
          ...tests,
          name: 'shared',
          include: ['**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...heavy, ...last],
          setupFiles: [join(import.meta.dirname, 'support/globals.ts')],
        },
      },
      {
        ...everywhere,
        test: { ...tests, name: 'last', include: last, sequence: { ...sequence, groupOrder: 1 } },
      },
    ],
  },
})
