import type { Tx } from '../db/client.ts'

/**
 * The `webhook-id` of delivery `wd`, the same in each attempt. It has the time: after a backup was
 * restored, another delivery may get the number of this one.
 */
export const headerIdOf = (db: Tx) => db`(
  'msg_' || wd.webhook_id || '_' || wd.id || '_'
  || (extract(epoch from wd.created_at) * 1000)::bigint
)`
