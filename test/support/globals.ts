import { jobTraces } from '@parley/server/jobs/job-trace'
import { afterAll, beforeAll, expect } from 'vitest'
import { openWorlds } from './open-worlds.ts'
import { sharing, stopUnlessShared } from './sharing.ts'

/** The names on `globalThis`, except the private ones of libraries. */
const names = () =>
  Object.getOwnPropertyNames(globalThis)
    .filter((name) => !name.startsWith('__'))
    .sort()

// The files of a worker share its globals. A file that needs some has them with `useGlobals`.
const before = names()
afterAll(() => expect(names()).toEqual(before))

// A world that one file forgot to stop is no fault of the next one.
afterAll(() => openWorlds.clear())

// Once something has run in it, Node.js 20 tracks every promise of the worker, in all later files:
// three times the cost of awaiting.
afterAll(() => jobTraces.disable())

// A file says while it is loaded, after this, whether it shares a server.
sharing.isWanted = false
beforeAll(stopUnlessShared)
