import { defineConfig, mergeConfig } from 'vitest/config'
import quick, { everywhere } from './vitest.config.ts'

/** The playground in Chromium: `npm run test:browser`. A conversation goes on from test to test. */
const { projects: _, ...test } = quick.test ?? {}
export default mergeConfig(
  { ...quick, ...everywhere, test },
  defineConfig({
    test: {
      include: ['browser/**/*.browser.ts'],
      // Much of the time they wait for pages: each file has a server and a browser of its own.
      maxWorkers: 2,
      bail: 1,
      // Some build all packages first.
      hookTimeout: 600_000,
    },
  }),
)
