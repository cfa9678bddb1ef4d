import { limits, type User, type UserSummary } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'

/** The live users among these ids, in the order of their ids. */
export const selectUsers = (db: Tx, appId: string, ids: string[]) => db<UserSummary[]>`
  select id, display_name as name, image from users where app_id = ${appId} and id = any(${ids}) and deleted_at is null order by id`

/** The same, kept from being deleted before this transaction ends: whoever makes something theirs asks this way. */
export const lockUsersForShare = (db: Tx, appId: string, ids: string[]) => db<UserSummary[]>`
  select id, display_name as name, image from users where app_id = ${appId} and id = any(${ids}) and deleted_at is null order by id for key share`

/** Live users as rows `u`, with all that answers show of them. */
export const selectProfiles = (db: Tx, { appId, which }: { appId: string; which: Fragment }) => db<
  Profile[]
>`
  select u.id, u.display_name as name, u.image, u.last_active_at, u.custom, u.email,
    exists (
      select from connections s join nodes n on n.id = s.node_id
      where s.app_id = u.app_id and s.user_id = u.id and n.beat_at > now() - ${limits.realtime.nodeDeadSeconds} * interval '1 second'
    ) as online
  from users u where u.app_id = ${appId} and u.deleted_at is null and ${which}`
type Profile = User & { custom: Record<string, unknown>; email: string | null }
