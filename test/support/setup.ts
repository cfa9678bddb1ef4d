import type { TestProject } from 'vitest/node'
import { providePostgres } from './postgres.ts'
import { providePrograms } from './programs.ts'

/** Prepares the run, before the first test file. */
export default async function setup(project: TestProject) {
  const ends = await Promise.all([providePostgres(project), providePrograms(project)])
  return () => Promise.all(ends.map((end) => end()))
}
