import { defineConfig } from 'vitest/config'
import { heavy } from './heavy.ts'
import { browserBuild } from './support/browser-build.ts'
import { everywhere, globalSetup, tests } from './vitest.config.ts'

/**
 * Files that measure how long something takes, which have the machine to themselves. What compares
 * times of one run in turn, and again if they differ, may run beside others.
 */
const measured = ['abuse', 'crowd', 'crowd-statements', 'erasure-locks', 'returning', 'tenants']
const measuring = measured.map((name) => `long/${name}.long.ts`)
/** Files that run the tests of other files, which each process would load only once. */
const transportFiles = ['long/http-stream.long.ts', 'long/sse.long.ts']

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
  ...['let-in', 'unreachable'],
  ...['list-outages', 'list-races', 'list-records', 'react-client', 'react-unused', 'testing'],
]

/** The files of a worker share its globals. */
const setupFiles = ['./support/globals.ts']

/** All others at once: more than cores, since many of them wait. */
const atOnce = {
  maxWorkers: 5,
  sequence: { ...tests.sequence, groupOrder: 1 },
  // Some build all packages first.
  testTimeout: 600_000,
  hookTimeout: 600_000,
}

/** The heavy tests: `npm run test:long`. */
export default defineConfig({
  ...everywhere,
  test: {
    ...tests,
    globalSetup,
    projects: [
      {
        ...everywhere,
        test: { ...tests, name: 'measuring', include: measuring, maxWorkers: 1, setupFiles },
      },
      {
        ...everywhere,
        test: {
          ...tests,
          ...atOnce,
          name: 'long',
          setupFiles,
          include: ['long/**/*.long.ts', ...heavy],
          exclude: [...measuring, ...transportFiles],
        },
      },
      {
        ...everywhere,
        test: { ...tests, ...atOnce, name: 'transports', include: transportFiles, isolate: true },
      },
      {
        ...everywhere,
        plugins: [browserBuild()],
        test: {
          ...tests,
          ...atOnce,
          name: 'browser-build',
          include: inBrowserBuild.map((name) => `sdk/${name}.test.ts`),
          setupFiles: ['./support/web-socket.ts', ...setupFiles],
        },
      },
    ],
  },
})
