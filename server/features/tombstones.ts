import type { Fragment, Tx } from '../db/client.ts'

/** How many seqs of a channel share a count of tombstones. The stored counts depend on it. */
export const TOMBSTONE_PART = 500
/** Stands for all authors, beside whom each has counts of their own. */
export const ALL_AUTHORS = ''

/**
 * How many of the messages that others than member `m` have written in channel `c`, after the
 * member's marker, are tombstones: in the part of the marker they are counted one by one, for the
 * parts after it their counts are added up.
 */
export const tombstonesAfterMarker = (db: Tx) => db`
  (
    select count(*)
    from messages msg
    where msg.channel_id = c.id
      and msg.deleted_at is not null
      and msg.user_id <> m.user_id
      and msg.seq > m.unread_after_seq
      and msg.seq < (m.unread_after_seq / ${TOMBSTONE_PART}::int + 1) * ${TOMBSTONE_PART}::int
  )
  + ${countsAfterMarker(db, db`${ALL_AUTHORS}`)}
  - ${countsAfterMarker(db, db`m.user_id`)}`

const countsAfterMarker = (db: Tx, author: Fragment) => db`
  coalesce((
    select sum(tc.count)
    from tombstone_counts tc
    where tc.channel_id = c.id
      and tc.user_id = ${author}
      and tc.part > m.unread_after_seq / ${TOMBSTONE_PART}::int
  ), 0)`
