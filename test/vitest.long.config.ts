import { defineConfig, mergeConfig } from 'vitest/config'
import quick from './vitest.config.ts'

/** The heavy tests: `npm run test:long`. One file at a time, for they are about load. */
const { projects: _, ...test } = quick.test ?? {}
export default mergeConfig(
  { ...quick, test },
  defineConfig({ test: { include: ['long/**/*.long.ts'], maxWorkers: 1 } }),
)
