import { createEventBus } from '@parley/server/core/event-bus'
import { createBatchSize } from '@parley/server/jobs/batch-size'
import type { World } from './world.ts'

/** What a pass of the cleanup works with. Its time is over after so many steps, each of one row. */
export function turnOf({ pool }: Pick<World, 'pool'>, steps: number) {
  let stepsLeft = steps
  return {
    db: pool,
    checkpoint: () => {
      if (stepsLeft === 0) throw new Error('the turn is over')
      stepsLeft -= 1
    },
    attempt: async (work: () => Promise<unknown>) => {
      await work()
      return true
    },
    batch: createBatchSize(1),
    publisher: createEventBus().publisher,
  }
}
