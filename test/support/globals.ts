import { afterAll, expect } from 'vitest'

/** The names on `globalThis`, except the private ones of libraries. */
const names = () =>
  Object.getOwnPropertyNames(globalThis)
    .filter((name) => !name.startsWith('__'))
    .sort()

// The files of a worker share its globals. A file that needs some has them with `useGlobals`.
const before = names()
afterAll(() => expect(names()).toEqual(before))
