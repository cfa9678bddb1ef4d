import type { Tx } from '@parley/server/db/client'

/** The rows of the app's channels whose counters are not what other rows say. */
export async function wrongCounters({ db, appId }: { db: Tx; appId: string }) {
  const channels = await db`
    select c.id
    from channels c
    where c.app_id = ${appId}
      and c.deleted_at is null
      and (
        c.member_count <> (select count(*) from members m where m.channel_id = c.id)
        or c.last_seq <> (select count(*) from messages msg where msg.channel_id = c.id)
        or c.last_seq <> (
          select coalesce(max(seq), 0)
          from messages msg
          where msg.channel_id = c.id
        )
        or c.rev <= c.last_seq
      )`
  const messages = await db`
    select numbered.id
    from (
      select
        msg.*,
        row_number() over (partition by channel_id, user_id order by seq) as own,
        (
          select count(*)
          from messages reply
          where reply.parent_id = msg.id
            and reply.deleted_at is null
        ) as replies,
        lag(created_at) over (partition by channel_id order by seq) as before
      from messages msg
      where app_id = ${appId}
    ) numbered
    where numbered.author_seq <> numbered.own
      or numbered.reply_count <> numbered.replies
      or numbered.created_at < numbered.before`
  const members = await db`
    select m.user_id
    from members m
    join channels c on c.id = m.channel_id
    where m.app_id = ${appId}
      and c.deleted_at is null
      and (m.unread_after_seq < 0 or m.unread_after_seq > c.last_seq)`
  const silent = await db`
    select *
    from (
      select
        coalesce(counted.channel_id, tc.channel_id) as channel_id, counted.count, tc.count as kept
      from (
        select msg.channel_id, count(*)
        from messages msg
        where msg.app_id = ${appId}
          and (msg.silent or msg.deleted_at is not null)
        group by 1
      ) counted
      full join (
        select channel_id, sum(count) as count
        from tombstone_counts
        where app_id = ${appId}
          and user_id = ''
        group by 1
      ) tc on tc.channel_id = counted.channel_id
    ) compared
    where count is distinct from kept`
  return { channels, messages, members, silent }
}
