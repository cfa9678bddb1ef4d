import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: import.meta.dirname,
  ssr: { resolve: { conditions: ['parley-source', 'node', 'module'] } },
  test: {
    include: ['**/*.test.ts'],
    globalSetup: ['./support/postgres.ts'],
    pool: 'forks',
    // What a worker has imported serves all the files that it runs.
    isolate: false,
    maxWorkers: 3,
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
})
