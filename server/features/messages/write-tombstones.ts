import { topics } from '@parley/contract'
import { isStoredWhole } from '../../core/stored-envelope.ts'
import { withQuote } from '../../core/text-removals.ts'
import type { Tx } from '../../db/client.ts'
import { SYSTEM_USER } from '../system-user.ts'
import { ALL_AUTHORS, TOMBSTONE_PART } from '../tombstones.ts'
import { userSummary } from '../users/view.ts'
import type { Thread } from './batch-counters.ts'

/**
 * Up to how many of its own events, of its quotes and of its reactions are written with the
 * tombstone of a message. Thousands take seconds, in which nobody could write to the channel: if
 * there are more, the cleanup does it (`text_removals`). Whoever reads events is shown them without
 * the text, and reactions to a tombstone are not shown.
 */
export const MOST_ROWS = 100

type WrittenTombstones = {
  appId: string
  channelId: string
  tombstones: { id: string; createdRev: number | null }[]
  threads: Thread[]
}

/**
 * A root that is deleted together with its replies is in both lists, and written once. Each table
 * is also asked for the ids: joined alone, it may be read from end to end if it was small when the
 * statement was prepared.
 */
export function writeTombstones(
  db: Tx,
  { appId, channelId, tombstones, threads }: WrittenTombstones,
) {
  const topic = topics.channel(appId, channelId)
  const ids = db`any(${tombstones.map(idOf)}::uuid[])`
  const createdRevs = tombstones.flatMap(({ createdRev }) => createdRev ?? [])
  const asDeleted = db`set type = 'message.deleted', envelope = deleted.envelope`
  return db`
    with deleted as (
      select *
      from jsonb_to_recordset(${db.json(tombstones)}) as tombstone (
        id uuid, rev int, "createdRev" int, "replyCount" int, "deletedAt" timestamptz, envelope text
      )
    ),
    pins as (
      delete from pins
      where message_id = ${ids}
    ),
    streams as (
      delete from message_streams
      where message_id = ${ids}
    ),
    counts as (
      insert into tombstone_counts as tc (app_id, channel_id, user_id, part, count)
      select msg.app_id, msg.channel_id, author.id, msg.seq / ${TOMBSTONE_PART}::int, count(*)
      from deleted
      join messages msg on msg.id = deleted.id and msg.id = ${ids}
      cross join lateral (values (msg.user_id), (${ALL_AUTHORS})) as author (id)
      where msg.silent is not true
      group by 1, 2, 3, 4
      on conflict (channel_id, user_id, part) do update
      set count = tc.count + excluded.count
    ),
    own_events as (
      select deleted.id, e.topic, e."offset"
      from deleted
      cross join lateral (
        select e.topic, e."offset"
        from events e
        where e.message_id = deleted.id
          and ${isStoredWhole(db)}
        limit ${MOST_ROWS + 1}
      ) e
    ),
    quoting as (
      select deleted.id, msg.id as message_id
      from deleted
      cross join lateral (
        select msg.id
        from messages msg
        where msg.quoted_id = deleted.id
        limit ${MOST_ROWS + 1}
      ) msg
    ),
    quoting_events as (
      select deleted.id, e.topic, e."offset"
      from deleted
      cross join lateral (
        select e.topic, e."offset"
        from quoting
        cross join lateral (
          select e.topic, e."offset"
          from events e
          where e.message_id = quoting.message_id
            and e.type in ('message.new', 'message.updated')
            and ${isStoredWhole(db)}
          limit ${MOST_ROWS + 1}
        ) e
        where quoting.id = deleted.id
          and quoting.message_id not in (select id from deleted)
        limit ${MOST_ROWS + 1}
      ) e
    ),
    reacted as materialized (
      select deleted.id, r.row_id
      from deleted
      cross join lateral (
        select r.ctid as row_id
        from reactions r
        where r.message_id = deleted.id
        order by r.emoji, r.user_id -- of two indexes, the one that begins with the message
        limit ${MOST_ROWS + 1}
      ) r
    ),
    many as (
      select id, bool_or(kind <> 'reaction') as has_text
      from (
        select id, kind
        from (
          select id, 'own' as kind
          from own_events
          union all
          select id, 'reaction'
          from reacted
          union all
          select id, 'message'
          from quoting
          union all
          select id, 'quote'
          from quoting_events
        ) found
        group by id, kind
        having count(*) > ${MOST_ROWS}
      ) kinds
      group by id
    ),
    emptied as (
      select
        deleted.id,
        jsonb_build_object(
          'rev', deleted.rev, 'text', '', 'attachmentCount', 0, 'attachmentType', null,
          'deletedAt', deleted."deletedAt"
        ) || case
          when author.deleted_at is null or author.id = ${SYSTEM_USER.id} then '{}'
          else jsonb_build_object('user', ${userSummary(db, db`author`)})
        end as quote
      from deleted
      join messages quoted on quoted.id = deleted.id and quoted.id = ${ids}
      left join users author
        on author.app_id = quoted.app_id
        and author.id = quoted.user_id
    ),
    removals as (
      insert into text_removals (message_id, app_id, topic, after, rev, tombstone, quote)
      select
        deleted.id, ${appId},
        case when many.has_text then ${topic} else ${reactionQueue(appId, channelId)} end,
        coalesce(deleted."createdRev" - 1, 0),
        deleted.rev, deleted.envelope, emptied.quote
      from many
      join deleted using (id)
      join emptied using (id)
    ),
    reactions as (
      delete from reactions
      where ctid = any(array(
        select row_id
        from reacted
        where id not in (
          select id
          from many
        )
      ))
    ),
    own as (
      update events e
      ${asDeleted}
      from own_events
      join deleted using (id)
      where e.topic = own_events.topic
        and e."offset" = own_events."offset"
        and own_events.id not in (
          select id
          from many
          where has_text
        )
    ),
    created as (
      update events e
      ${asDeleted}
      from deleted
      where e.topic = ${topic}
        and e."offset" = any(${createdRevs}::int[])
        and e."offset" = deleted."createdRev"
        and e.message_id is not distinct from deleted.id
        and not ${isStoredWhole(db)}
    ),
    quotes as (
      update events e
      set envelope = ${withQuote(db, db`emptied.quote`)}
      from quoting_events
      join emptied using (id)
      where e.topic = quoting_events.topic
        and e."offset" = quoting_events."offset"
        and quoting_events.id not in (
          select id
          from many
          where has_text
        )
    ),
    threads as (
      update messages msg
      set reply_count = thread."replyCount", rev = thread.rev
      from jsonb_to_recordset(${db.json(threads)}) as thread (
        id uuid, "replyCount" int, rev int
      )
      where msg.id = thread.id
        and msg.id = any(${threads.map(idOf)}::uuid[])
        and thread.id not in (select id from deleted)
    )
    update messages msg
    set
      text = '', mentions = '{}', attachments = '[]', link_previews = null, custom = null,
      streaming = null, interrupted = null,
      rev = deleted.rev, reply_count = deleted."replyCount",
      updated_at = deleted."deletedAt", deleted_at = deleted."deletedAt"
    from deleted
    where msg.id = deleted.id
      and msg.id = ${ids}`
}

/** A topic without events, where messages wait of which only the reactions are left. */
const reactionQueue = (appId: string, channelId: string) => `reactions:${appId}:${channelId}`

const idOf = ({ id }: { id: string }) => id
