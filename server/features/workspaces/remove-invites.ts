import type { Fragment, Tx } from '../../db/client.ts'

type Removed = { count: number; until: string | null }

/**
 * Deletes these invites, of which a query selects `ctid`, `id` and `expires_at`, no more than
 * `limit`. An invite may have any number of uses, and a cascade has no limit: if there may be more
 * uses than that, the step deletes only uses, and `until` is null. Returns how many invites were
 * found.
 */
export async function removeInvites(db: Tx, invites: Fragment, limit: number) {
  const [removed] = await db<Removed[]>`
    with found as materialized (${invites}),
    uses as materialized (
      select wiu.ctid
      from found
      cross join lateral (
        select ctid
        from workspace_invite_uses
        where invite_id = found.id
        limit ${limit}
      ) wiu
      limit ${limit}
    ),
    used as (
      delete from workspace_invite_uses
      where ctid = any(array(select ctid from uses))
    ),
    deleted as (
      delete from workspace_invites
      where ctid = any(array(
        select ctid
        from found
        where (select count(*) from uses) < ${limit}
      ))
    )
    select
      count(*)::int as count,
      case
        when (select count(*) from uses) < ${limit} then max(expires_at)::text
      end as until
    from found`
  return removed ?? { count: 0, until: null }
}
