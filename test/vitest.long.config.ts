import { defineConfig } from 'vitest/config'
import { heavy } from './heavy.ts'
import { everywhere, globalSetup, tests } from './vitest.config.ts'

/**
 * Files that measure how long something takes, which have the machine to themselves. What compares
 * times of one run in turn, and again if they differ, may run beside others.
 */
const measured = ['abuse', 'crowd', 'crowd-statements', 'erasure-locks', 'returning', 'tenants']
const measuring = measured.map((name) => `long/${name}.long.ts`)
/** Files that run the tests of other files, which each process would load only once. */
const transportFiles = ['long/http-stream.long.ts', 'long/sse.long.ts']

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
    ],
  },
})
