import type { Fragment, Tx } from '../../db/client.ts'

type FirstSeq = {
  channelId: Fragment
  /** Selects `low`, a seq that comes before the wanted one, and `high`, it or a later one. */
  bounds: Fragment
  /** Whether message `msg` comes before it: so do all earlier messages, and no later ones. */
  isBefore: Fragment
}

/** Selects a `seq` of a channel by a binary search: a step halves what is between the bounds. */
export const selectFirstSeq = (db: Tx, { channelId, bounds, isBefore }: FirstSeq): Fragment => db`
  with recursive search as (
    ${bounds}
    union all
    select
      case when probe.is_before then probe.seq else search.low end,
      case when probe.is_before then search.high else middle.seq end
    from search
    cross join lateral (
      select search.low + (search.high - search.low) / 2 as seq
    ) middle
    left join lateral (
      select msg.seq, ${isBefore} as is_before
      from messages msg
      where msg.channel_id = ${channelId}
        and msg.seq >= middle.seq
      order by msg.seq
      limit 1
    ) probe on true
    where search.high - search.low > 1
  )
  select min(search.high) as seq
  from search`
