import { limits, type Workspace } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { joinedMicros } from '../cursors.ts'

type Listing = { appId: string; userId: string; which: Fragment }
type WorkspaceRow = Workspace & { joinedMicros: string; hasNext: true | null }

/** The most bytes of a workspace in an answer, without its name, type and image. */
const AROUND_BYTES = 350

/**
 * The workspaces of a user as they see them, in the order they joined: as many as an answer has
 * room for. `which` is a condition on the user's rows `wm`, and may end in order and limit: the
 * rest is read for these only.
 */
export const selectWorkspaces = (db: Tx, { appId, userId, which }: Listing) => db<WorkspaceRow[]>`
  select
    w.id, w.name, w.type, w.image,
    wm.role,
    w.created_at, w.updated_at,
    w.id = (
      select earliest.workspace_id
      from workspace_members earliest
      where earliest.app_id = ${appId}
        and earliest.user_id = ${userId}
      order by earliest.joined_at, earliest.workspace_id
      limit 1
    ) as is_default,
    (
      select count(*)::int
      from (
        select
        from workspace_members member
        where member.workspace_id = w.id
        limit ${mostCounted(db)}
      ) counted
    ) as member_count,
    (
      select count(*)::int
      from (
        select
        from channels c
        where c.workspace_id = w.id
          and c.deleted_at is null
        limit ${mostCounted(db)}
      ) counted
    ) as channel_count,
    ${joinedMicros(db, db`wm`)} as joined_micros,
    wm.has_next
  from (
    select
      wm.*,
      (row_number() over joined)::int as ordinal,
      lead(true) over joined as has_next,
      (count(*) over ())::int as listed,
      sum(octet_length(jsonb_build_array(w.name, w.type, w.image)::text) + ${AROUND_BYTES})
        over joined as bytes
    from (
      select wm.*
      from workspace_members wm
      where wm.app_id = ${appId}
        and wm.user_id = ${userId}
        and ${which}
    ) wm
    join workspaces w on w.id = wm.workspace_id
    window joined as (order by wm.joined_at, wm.workspace_id)
  ) wm
  join workspaces w on w.id = wm.workspace_id
  where wm.bytes <= ${limits.answerBytes} or wm.ordinal = 1
  order by wm.joined_at, w.id`

/** How many members, or channels, of workspace `wm` are counted at most: fewer in a long list. */
const mostCounted = (db: Tx) => db`
  least(${limits.workspaceCounted.each}::int, ${limits.workspaceCounted.all}::int / wm.listed)`
