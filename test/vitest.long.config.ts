import { defineConfig } from 'vitest/config'
import { everywhere, globalSetup, tests } from './vitest.config.ts'

/** Files about load, which have the machine to themselves. */
const load = [
  'abuse',
  'bench',
  'lost-connections',
  'crowd',
  'growth',
  'hostile-flood',
  'outage',
  'realtime',
  'returning',
  'tenants',
]
const loadFiles = load.map((name) => `long/${name}.long.ts`)
/** Files that run the tests of other files, which each process would load only once. */
const transportFiles = ['long/http-stream.long.ts', 'long/sse.long.ts']

/** The heavy tests: `npm run test:long`. */
export default defineConfig({
  ...everywhere,
  test: {
    ...tests,
    globalSetup,
    projects: [
      {
        ...everywhere,
        test: { ...tests, name: 'load', include: loadFiles, maxWorkers: 1 },
      },
      {
        ...everywhere,
        test: {
          ...tests,
          name: 'long',
          include: ['long/**/*.long.ts'],
          exclude: [...loadFiles, ...transportFiles],
          maxWorkers: 2,
          sequence: { ...tests.sequence, groupOrder: 1 },
        },
      },
      {
        ...everywhere,
        test: {
          ...tests,
          name: 'transports',
          include: transportFiles,
          isolate: true,
          maxWorkers: 2,
          sequence: { ...tests.sequence, groupOrder: 2 },
        },
      },
    ],
  },
})
