import type { Workspace } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'

type WorkspaceQuery = { appId: string; userId: string; which: Fragment }

/**
 * The workspaces of a user as they see them, in the order they joined. `which` is a condition on
 * the rows `workspace`.
 */
export const selectWorkspaces = (db: Tx, query: WorkspaceQuery) => db<Workspace[]>`
  select *
  from (
    select
      w.id, w.name, w.type, w.image,
      wm.role,
      w.created_at, w.updated_at,
      row_number() over (order by wm.joined_at, w.id) = 1 as is_default,
      (
        select count(*)::int
        from workspace_members member
        where member.workspace_id = w.id
      ) as member_count,
      (
        select count(*)::int
        from channels c
        where c.workspace_id = w.id
          and c.deleted_at is null
      ) as channel_count
    from workspace_members wm
    join workspaces w on w.id = wm.workspace_id
    where wm.app_id = ${query.appId}
      and wm.user_id = ${query.userId}
    order by wm.joined_at, w.id
  ) workspace
  where ${query.which}`
