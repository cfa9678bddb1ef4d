import type { contract, Input } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { containing } from '../../db/sql.ts'

type ListInput = Input<typeof contract.channels.list>
/** Which channels to list. */
export type ChannelsQuery = Required<Pick<ListInput, 'limit' | 'offset'>> &
  Pick<ListInput, 'type' | 'q'> & { appId: string; userId: string }

/**
 * The channels that a user may join, newest activity first: open ones, and the team channels of
 * their workspaces. Each kind is read on its own, as far as the page needs it: open channels by the
 * hour of their activity, which an index has, and within it by the exact time.
 */
export function selectOpenIds(
  db: Tx,
  { appId, userId, limit, offset, type, q }: ChannelsQuery,
): Fragment {
  const isListed = db`
    c.app_id = ${appId}
    and c.deleted_at is null
    and ${q === undefined ? db`true` : db`c.name ilike ${containing(q)}`}`
  const hasNoType = (kind: string) => type !== undefined && type !== kind
  const openOf = (isOfType: Fragment) => db`
    select c.id, c.last_activity_at
    from channels c
    where ${isOfType}
      and ${isListed}
    order by c.active_hour desc, c.last_activity_at desc, c.id desc
    limit ${limit + offset}`
  const ofWorkspaces = db`
    select c.id, c.last_activity_at
    from workspace_members wm
    join channels c on c.workspace_id = wm.workspace_id
    where wm.app_id = ${appId}
      and wm.user_id = ${userId}
      and c.type = 'team'
      and ${isListed}
    order by c.last_activity_at desc, c.id desc
    limit ${limit + offset}`
  const none = db`select id, last_activity_at from channels where false`
  return db`
    select open.id
    from (
      (${hasNoType('public') ? none : openOf(db`c.type = 'public'`)})
      union all
      (${hasNoType('livestream') ? none : openOf(db`c.type = 'livestream'`)})
      union all
      (${hasNoType('team') ? none : ofWorkspaces})
    ) open
    order by open.last_activity_at desc, open.id desc
    limit ${limit}
    offset ${offset}`
}
