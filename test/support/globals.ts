import { afterAll, expect } from 'vitest'

/** What is global, but for the private names of libraries. */
const names = () =>
  Object.getOwnPropertyNames(globalThis)
    .filter((name) => !name.startsWith('__'))
    .sort()

// The files of a worker share its globals. One that adds or removes some belongs in the isolated project.
const before = names()
afterAll(() => expect(names()).toEqual(before))
