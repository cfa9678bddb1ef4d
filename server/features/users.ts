import type { UserSummary } from '@parley/contract'
import type { Tx } from '../db/client.ts'

/** The live users among these ids, in the order of their ids. */
export const selectUsers = (db: Tx, appId: string, ids: string[]) => db<UserSummary[]>`
  select id, display_name as name, image from users where app_id = ${appId} and id = any(${ids}) and deleted_at is null order by id`
