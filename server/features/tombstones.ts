import type { Fragment, Tx } from '../db/client.ts'

/**
 * How many seqs of a channel share a count of tombstones and silent messages. The stored counts
 * depend on it.
 */
export const TOMBSTONE_PART = 500
/** The author of the counts over all authors; each author also has counts of their own. */
export const ALL_AUTHORS = ''

/**
 * Counts others' tombstones and silent messages in channel `c` after the marker of member `m`: one
 * by one in the marker's part, from stored counts in later parts. Usually there are none, and one
 * look-up shows it.
 */
export const uncountedAfterMarker = (db: Tx) => db`
  case
    when exists (
      select
      from tombstone_counts tc
      where tc.channel_id = c.id
        and tc.user_id = ${ALL_AUTHORS}
        and tc.part >= m.unread_after_seq / ${TOMBSTONE_PART}::int
    )
    then
      ${inPartOfMarker(db, db`msg.deleted_at is not null`)}
      + ${inPartOfMarker(db, db`msg.silent and num_nulls(msg.deleted_at) = 1`)}
      + ${countsAfterMarker(db, db`${ALL_AUTHORS}`)}
      - ${countsAfterMarker(db, db`m.user_id`)}
    else 0
  end`

/** The tombstones, or silent messages, between the marker and the end of its part. */
const inPartOfMarker = (db: Tx, isOfKind: Fragment) => db`
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and ${isOfKind}
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / ${TOMBSTONE_PART}::int + 1) * ${TOMBSTONE_PART}::int
  )`

type SilentMessage = { appId: string; channelId: string; userId: string; seq: number }

/** Counts new silent messages; when one is deleted later, it is counted already. */
export function countSilent(db: Tx, messages: SilentMessage[]) {
  const appIds = messages.map(({ appId }) => appId)
  const channelIds = messages.map(({ channelId }) => channelId)
  const userIds = messages.map(({ userId }) => userId)
  const seqs = messages.map(({ seq }) => seq)
  return db`
    insert into tombstone_counts as tc (app_id, channel_id, user_id, part, count)
    select given.app_id, given.channel_id, author.id, given.seq / ${TOMBSTONE_PART}::int, count(*)
    from unnest(${appIds}::uuid[], ${channelIds}::uuid[], ${userIds}::text[], ${seqs}::int[])
      as given (app_id, channel_id, user_id, seq)
    cross join lateral (values (given.user_id), (${ALL_AUTHORS})) as author (id)
    group by 1, 2, 3, 4
    on conflict (channel_id, user_id, part) do update
    set count = tc.count + excluded.count`
}

const countsAfterMarker = (db: Tx, author: Fragment) => db`
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = ${author}
      and tc.part > m.unread_after_seq / ${TOMBSTONE_PART}::int
  ), 0)`
