import { limits } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { constant } from '../../db/sql.ts'
import { userSummary } from '../users/view.ts'

/**
 * The reactions of message row `msg` as JSON, if any: oldest emoji first, with first users. However
 * many users reacted, it reads those that it shows, and the counts that are kept of many. Those of
 * a tombstone, which the cleanup may not have removed yet, are not shown.
 */
export const reactionsOfMessage = (db: Tx, viewer: string | Fragment | null) => db`
  case when msg.deleted_at is null and (
    select true
    from reactions
    where message_id = msg.id
    order by emoji, user_id -- of two indexes, the one that begins with the message
    limit 1
  ) then (
    with recursive kinds as (${kindsOf(db, db`msg.id`)})
    select
      jsonb_agg(
        jsonb_build_object(
          'type', kind.emoji,
          -- Of a few all were read.
          'count', case
            when kind.shown < ${limits.reactionUsers} then kind.shown
            else ${countOf(db)}
          end,
          'own', kind.own or kind.shown = ${limits.reactionUsers} and ${isOwn(db, viewer)},
          'users', kind.users
        )
        order by kind.first, kind.emoji
      )
    from (
      select
        shown.emoji,
        min(shown.created_at) as first,
        count(*) as shown,
        coalesce(bool_or(shown.user_id = ${viewer}), false) as own,
        coalesce(
          jsonb_agg(shown.user_json order by shown.ordinal)
            filter (where shown.bytes <= ${limits.reactionUserBytes}),
          '[]'
        ) as users
      from (
        select
          r.user_id, r.emoji, r.created_at, r.ordinal, shown_user.user_json,
          sum(octet_length(shown_user.user_json::text)) over (order by r.ordinal, r.emoji) as bytes
        from kinds
        cross join lateral (
          select
            app_id, user_id, emoji, created_at,
            row_number() over (order by created_at, user_id) as ordinal
          from reactions
          where message_id = msg.id
            and emoji = kinds.emoji
          order by created_at, user_id
          limit ${limits.reactionUsers}
        ) r
        cross join lateral (
          select ${reactingUser(db)} as user_json
          from users u
          where u.app_id = r.app_id
            and u.id = r.user_id
          limit 1
        ) shown_user
      ) shown
      group by shown.emoji
    ) kind
  ) end`

const reactingUser = constant((db) => userSummary(db))

/** How many users reacted with emoji `kind`: few are counted, of many the count is kept. */
const countOf = constant(
  (db) => db`
    coalesce(
      (
        select rc.count
        from reaction_counts rc
        where rc.message_id = msg.id
          and rc.emoji = kind.emoji
        limit 1
      ),
      (
        select count(*)
        from reactions
        where message_id = msg.id
          and emoji = kind.emoji
      )
    )`,
)

const isOwn = (db: Tx, viewer: string | Fragment | null) => db`
  coalesce((
    select true
    from reactions
    where message_id = msg.id
      and emoji = kind.emoji
      and user_id = ${viewer}
    limit 1
  ), false)`

/**
 * The different emoji of a message, for a recursive CTE `kinds`: each is the first after the one
 * before it, so that users of the same emoji are passed over.
 */
export const kindsOf = (db: Tx, messageId: Fragment | string) => db`
  (
    select emoji
    from reactions
    where message_id = ${messageId}
    order by emoji
    limit 1
  )
  union all
  select next.emoji
  from kinds
  cross join lateral (
    select emoji
    from reactions
    where message_id = ${messageId}
      and emoji > kinds.emoji
    order by emoji
    limit 1
  ) next`
