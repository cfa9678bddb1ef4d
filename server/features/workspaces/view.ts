import type { Workspace } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'

/** The workspaces of a user as he sees them, in the order he joined them. */
export const selectWorkspaces = (
  db: Tx,
  { appId, userId, which }: { appId: string; userId: string; which: Fragment },
) => db<Workspace[]>`
  select * from (
    select w.id, w.name, w.type, w.image, m.role, w.created_at, w.updated_at,
      row_number() over (order by m.joined_at, w.id) = 1 as is_default,
      (select count(*)::int from workspace_members f where f.workspace_id = w.id) as member_count,
      (select count(*)::int from channels c where c.workspace_id = w.id and c.deleted_at is null) as channel_count
    from workspace_members m join workspaces w on w.id = m.workspace_id
    where m.app_id = ${appId} and m.user_id = ${userId}
    order by m.joined_at, w.id
  ) w where ${which}`
