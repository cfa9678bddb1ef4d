import { expect, vi } from 'vitest'
import { patient } from './until.ts'
import type { World } from './world.ts'

/** Resolves once this many calls wait for others of their user or app. */
export const callsQueued = ({ metrics }: Pick<World, 'metrics'>, count: number) =>
  vi.waitFor(async () => {
    const { values } = await metrics.callsWaiting.get()
    expect(values[0]?.value).toBe(count)
  }, patient)

/** Promises that are waited for after a lock is gone. */
export const later = <T>(...promises: Promise<T>[]) => ({ promises })
