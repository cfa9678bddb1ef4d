import type { TestProject } from 'vitest/node'
import { providePacked } from './packed.ts'
import { providePostgres } from './postgres.ts'
import { providePrograms } from './programs.ts'

/** Prepares the run, before the first test file. */
export default async function setup(project: TestProject) {
  const ends = await Promise.all([
    providePostgres(project),
    providePrograms(project),
    providePacked(project),
  ])
  return () => Promise.all(ends.map((end) => end()))
}
