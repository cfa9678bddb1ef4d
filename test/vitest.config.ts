import { configDefaults, defineConfig } from 'vitest/config'

/** Files that put something on `globalThis`. Each has a process of its own. */
const isolated = ['sdk/{connection,outbox,people,react}.test.ts']
/** Files that look at what all others have done. */
const last = ['sql.test.ts']

const everywhere = {
  root: import.meta.dirname,
  ssr: { resolve: { conditions: ['parley-source', 'node', 'module'] } },
}
const tests = {
  pool: 'forks' as const,
  // The modules that a worker has imported serve all the files that it runs.
  isolate: false,
  // Generous: what is late on a busy machine is no failure, what never comes is one.
  testTimeout: 180_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 60_000 } },
}

export default defineConfig({
  ...everywhere,
  test: {
    ...tests,
    // Once for all projects.
    globalSetup: ['./support/postgres.ts'],
    maxWorkers: 3,
    projects: [
      {
        ...everywhere,
        test: {
          ...tests,
          name: 'shared',
          include: ['**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...isolated, ...last],
          setupFiles: ['./support/globals.ts'],
        },
      },
      { ...everywhere, test: { ...tests, name: 'isolated', include: isolated, isolate: true } },
      {
        ...everywhere,
        test: { ...tests, name: 'last', include: last, sequence: { groupOrder: 1 } },
      },
    ],
  },
})
