import { limits } from '@parley/contract'
import type { Tx } from '@parley/server/db/client'
import type { Timings } from '@parley/server/realtime/timings'

/** A node whose heartbeats a test has put off stays alive, however long the test takes. */
export async function keepAlive(db: Tx, { beatMs = 0 }: Partial<Timings> = {}) {
  if (beatMs < limits.realtime.nodeDeadSeconds * 1_000) return
  await db`
    update nodes
    set beat_at = '2100-01-01'
    where beat_at > now() - interval '1 minute'`
}
