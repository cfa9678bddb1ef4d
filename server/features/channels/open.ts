import type { ChannelType, contract, Input } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { hasPart } from '../../db/sql.ts'
import { selectNamed } from '../search.ts'

type ListInput = Input<typeof contract.channels.list>
type OpenType = Extract<ChannelType, 'public' | 'livestream'>
/** Which channels to list. */
export type ChannelsQuery = Required<Pick<ListInput, 'limit' | 'offset'>> &
  Pick<ListInput, 'type' | 'q'> & { appId: string; userId: string }
type InOrder = { q: string; inOrder: (rows: number) => Fragment }

/**
 * The channels that a user may join, newest activity first: open ones, and the team channels of
 * their workspaces. Each kind is read on its own, as far as the page needs it: open channels by the
 * hour of their activity, which an index has, and within it by the exact time.
 */
export function selectOpenIds(
  db: Tx,
  { appId, userId, limit, offset, type, q }: ChannelsQuery,
): Fragment {
  const count = limit + offset
  const hasNoType = (kind: string) => type !== undefined && type !== kind
  // The type is a constant in the statement: a parameter would keep it from its partial index.
  const openOf = (kind: OpenType, isOfType: Fragment) => {
    // Whole hours first: for the exact order PostgreSQL 15 would read and sort all open channels.
    const inOrder = (rows: number) => db`
      select hours.id, hours.last_activity_at, hours.name
      from (
        select c.id, c.last_activity_at, c.name
        from channels c
        where ${isOfType}
          and c.app_id = ${appId}
          and c.deleted_at is null
        order by c.active_hour desc
        fetch first ${rows} rows with ties
      ) hours
      order by hours.last_activity_at desc, hours.id desc
      limit ${rows}`
    return q === undefined ? inOrder(count) : namedOf(kind, { q, inOrder })
  }
  const namedOf = (kind: OpenType, { q, inOrder }: InOrder) => {
    const byKeys = db`
      select c.id, c.last_activity_at, c.name
      from channels_named(${appId}, ${kind}, ${q}) c`
    const order = db`last_activity_at desc, id desc`
    return db`
      select named.id, named.last_activity_at, named.name
      from (${selectNamed(db, { q, inOrder, byKeys, order, count })}) named`
  }
  const ofWorkspaces = db`
    select c.id, c.last_activity_at, c.name
    from workspace_members wm
    join channels c on c.workspace_id = wm.workspace_id
    where wm.app_id = ${appId}
      and wm.user_id = ${userId}
      and c.type = 'team'
      and c.app_id = ${appId}
      and c.deleted_at is null
      and ${q === undefined ? db`true` : hasPart(db, db`c.name`, q)}
    order by c.last_activity_at desc, c.id desc
    limit ${count}`
  const none = db`
    select id, last_activity_at, name
    from channels
    where false`
  return db`
    select open.id
    from (
      (${hasNoType('public') ? none : openOf('public', db`c.type = 'public'`)})
      union all
      (${hasNoType('livestream') ? none : openOf('livestream', db`c.type = 'livestream'`)})
      union all
      (${hasNoType('team') ? none : ofWorkspaces})
    ) open
    order by open.last_activity_at desc, open.id desc
    limit ${limit}
    offset ${offset}`
}
