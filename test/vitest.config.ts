import { configDefaults, defineConfig } from 'vitest/config'

/** Files that put something on `globalThis`. Each has a process of its own. */
const isolated = ['sdk/{connection,outbox,people,react}.test.ts']

const workspace = {
  root: import.meta.dirname,
  ssr: { resolve: { conditions: ['parley-source', 'node', 'module'] } },
}
const settings = {
  pool: 'forks',
  // What a worker has imported serves all the files that it runs.
  isolate: false,
  maxWorkers: 3,
  // Enough for a machine that is busy with something else: what is late is no failure, what never comes is one.
  testTimeout: 180_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 60_000 } },
} as const
const shared = {
  name: 'shared',
  include: ['**/*.test.ts'],
  exclude: [...configDefaults.exclude, ...isolated],
  setupFiles: ['./support/globals.ts'],
}

export default defineConfig({
  ...workspace,
  test: {
    ...settings,
    // One database server for both projects: they would each inherit what starts it.
    globalSetup: ['./support/postgres.ts'],
    projects: [
      { ...workspace, test: { ...settings, ...shared } },
      { ...workspace, test: { ...settings, name: 'isolated', include: isolated, isolate: true } },
    ],
  },
})
