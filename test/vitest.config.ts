import { configDefaults, defineConfig } from 'vitest/config'

/** Files that put something on `globalThis`. Each has a process of its own. */
const isolated = ['sdk/{connection,outbox,people,react}.test.ts']

export default defineConfig({
  root: import.meta.dirname,
  ssr: { resolve: { conditions: ['parley-source', 'node', 'module'] } },
  test: {
    globalSetup: ['./support/postgres.ts'],
    pool: 'forks',
    // What a worker has imported serves all the files that it runs.
    isolate: false,
    maxWorkers: 3,
    // Enough for a machine that is busy with something else: what is late is no failure, what never comes is one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'shared',
          include: ['**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...isolated],
          setupFiles: ['./support/globals.ts'],
        },
      },
      { extends: true, test: { name: 'isolated', include: isolated, isolate: true } },
    ],
  },
})
