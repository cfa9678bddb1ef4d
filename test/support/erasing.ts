import { createEventBus } from '@parley/server/core/event-bus'
import type { createErasurePositions, ErasureContext } from '@parley/server/jobs/erasure-context'
import type { World } from './world.ts'

type Cut = { positions: ReturnType<typeof createErasurePositions>; steps?: number; rows?: number }

/** The context of an erasure of at most `steps` steps of `rows` rows each, by default one. */
export function erasureContext(
  { pool: db }: Pick<World, 'pool'>,
  { positions, steps = Number.POSITIVE_INFINITY, rows = 1 }: Cut,
): ErasureContext {
  const { publisher } = createEventBus()
  let left = steps
  const checkpoint = () => {
    if (left-- === 0) throw new Error('the turn is over')
  }
  const attempt = (work: () => Promise<void>) => work().then(() => true)
  const batch = { run: <T>(work: (limit: number) => Promise<T>) => work(rows) }
  return { db, publisher, checkpoint, attempt, batch, positions, waitsForLocks: true }
}
