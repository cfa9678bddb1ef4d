import { afterAll, beforeAll } from 'vitest'

/** Puts these on `globalThis` during the tests of a file. Node.js has none of them. */
export function useGlobals(values: Record<string, unknown>) {
  beforeAll(() => void Object.assign(globalThis, values))
  afterAll(async () => {
    // React looks at the window in what it has scheduled while components were unmounted.
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
    for (const name of Object.keys(values)) Reflect.deleteProperty(globalThis, name)
  })
}
