import { jobTraces } from '@parley/server/jobs/job-trace'
import { afterAll, beforeAll, expect } from 'vitest'
import { openWorlds } from './open-worlds.ts'
import { sharing, stopUnlessShared } from './sharing.ts'

/** The properties of `globalThis`, by name, except the private names of libraries. */
const globals = () =>
  new Map(
    Object.entries(Object.getOwnPropertyDescriptors(globalThis)).filter(
      ([name]) => !name.startsWith('__'),
    ),
  )

/** Whether a global is what it was. Node.js has getters for some until they are first read. */
function isSame(old: PropertyDescriptor | undefined, now: PropertyDescriptor | undefined) {
  if (!old || !now) return false
  if (now.get) return now.get === old.get
  return Object.is(now.value, old.get ? old.get.call(globalThis) : old.value)
}

/** The names of globals that were added, removed or replaced. */
function changedSince(old: ReturnType<typeof globals>) {
  const now = globals()
  const names = [...new Set([...old.keys(), ...now.keys()])]
  return names.filter((name) => !isSame(old.get(name), now.get(name)))
}

// The files of a worker share its globals. A file that needs some has them with `useGlobals`.
const before = globals()
afterAll(() => expect(changedSince(before)).toEqual([]))

// A world that one file forgot to stop is no fault of the next one.
afterAll(() => openWorlds.clear())

// Once something has run in it, Node.js 20 tracks every promise of the worker, in all later files:
// three times the cost of awaiting.
afterAll(() => jobTraces.disable())

// A file says while it is loaded, after this, whether it shares a server.
sharing.isWanted = false
beforeAll(stopUnlessShared)
