import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { heavy } from './heavy.ts'
import { browserBuild } from './support/browser-build.ts'
import { everywhere, globalSetup, slow, tests } from './vitest.config.ts'

const LONG_PART = process.env.LONG_PART ?? '1/1'
const [part = 0, parts = 0] = LONG_PART.split('/').map(Number)
if (!(part >= 1 && part <= parts)) throw new Error(`LONG_PART is ${LONG_PART}, not like 2/4`)

/** The files of this run: with `LONG_PART=2/4` the second of four parts that take as long. */
function inThisPart(files: string[]) {
  const dealt = files.toSorted((one, other) => placeOf(one) - placeOf(other))
  return dealt.filter((_, index) => index % parts === part - 1)
}
const placeOf = (file: string) => (slow.includes(file) ? slow.indexOf(file) : slow.length)

/**
 * Files that measure how long something takes have the machine to themselves. Files that compare
 * times of one run in turn, and again if they differ, may run beside others.
 */
const measured = [
  ...['abuse', 'erasure-locks', 'large-channel', 'large-channel-statements', 'returning'],
  'tenants',
]
const isMeasured = new Set(measured.map((name) => `long/${name}.long.ts`))
/** Files that run the tests of other files, which each process would load only once. */
const transportFiles = ['long/http-stream.long.ts', 'long/sse.long.ts']
const longFiles = readdirSync(join(import.meta.dirname, 'long'))
  .filter((name) => name.endsWith('.long.ts'))
  .map((name) => `long/${name}`)
const measuring = inThisPart(longFiles.filter((file) => isMeasured.has(file)))
const others = inThisPart(longFiles.filter((file) => !isMeasured.has(file)))
const transports = transportFiles.filter((file) => others.includes(file))

/**
 * Files that use the client as an application does, and take little time: they also run with its
 * build for browsers.
 */
const inBrowserBuild = [
  ...['before-token', 'cold-start', 'logouts', 'restored-rooms', 'restored-sessions'],
  ...['blocked-sockets', 'catch-up', 'monotonic', 'partial-reads', 'wrong-addresses'],
  ...['calls', 'poison', 'rate-gate', 'retries', 'outbox-retries', 'presence-retries'],
  ...['folded', 'offline', 'offline-tabs', 'outbox', 'outbox-order', 'outbox-requests'],
  ...['just-sent', 'left-rooms', 'load-races', 'mutation-races', 'pending-pins', 'presence-races'],
  ...['read-answers', 'reading', 'room', 'room-info', 'room-pages', 'seen-tabs', 'typing'],
  ...['let-in', 'lost-requests', 'profile-versions', 'unreachable'],
  ...['list-outages', 'list-races', 'list-records', 'react-client', 'react-unused', 'testing'],
]

/** The files of a worker share its globals. */
const setupFiles = ['./support/globals.ts']

/** A test of a minute takes five on a slower machine, and some build all packages first. */
const long = { ...tests, testTimeout: 600_000, hookTimeout: 600_000 }
/** All others at once: more than cores, since many of them wait. */
const atOnce = { ...long, maxWorkers: 5, sequence: { ...tests.sequence, groupOrder: 1 } }

/** The heavy tests: `npm run test:long`. */
export default defineConfig({
  ...everywhere,
  test: {
    ...tests,
    globalSetup,
    projects: [
      {
        ...everywhere,
        test: { ...long, name: 'measuring', include: measuring, maxWorkers: 1, setupFiles },
      },
      {
        ...everywhere,
        test: {
          ...atOnce,
          name: 'long',
          setupFiles,
          include: [...others.filter((file) => !transportFiles.includes(file)), ...heavy],
        },
      },
      {
        ...everywhere,
        test: { ...atOnce, name: 'transports', include: transports, isolate: true },
      },
      {
        ...everywhere,
        plugins: [browserBuild()],
        test: {
          ...atOnce,
          name: 'browser-build',
          include: inBrowserBuild.map((name) => `sdk/${name}.test.ts`),
          setupFiles: ['./support/web-socket.ts', ...setupFiles],
        },
      },
    ],
  },
})
