import { defineConfig, mergeConfig } from 'vitest/config'
import quick, { everywhere } from './vitest.config.ts'

/** The playground in Chromium: `npm run test:browser`. A conversation goes on from test to test. */
const { projects: _, ...test } = quick.test ?? {}
export default mergeConfig(
  { ...quick, ...everywhere, test },
  defineConfig({
    // Some build all packages first.
    test: {
      include: ['browser/**/*.browser.ts'],
      maxWorkers: 1,
      bail: 1,
      hookTimeout: 600_000,
    },
  }),
)
