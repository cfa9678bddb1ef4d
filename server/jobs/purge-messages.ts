import type { DbConnection } from '../db/client.ts'
import { MOST_ROWS } from '../features/messages/write-tombstones.ts'
import { deleteOwned, type RetentionContext, reactionsOfOne } from './delete-in-steps.ts'

/**
 * Deletes the messages of a deleted channel, and before a message the many reactions to it: few go
 * with it, in one statement.
 */
export async function purgeMessages(context: RetentionContext, channelId: string) {
  const { db, checkpoint, batch } = context
  let afterSeq = 0
  const step = async (limit: number) => {
    const next = { channelId, afterSeq, limit }
    const { lastSeq, crowded } = await db.use((db) => selectPurgeSlice(db, next))
    if (lastSeq === null) return false
    for (const id of crowded)
      await deleteOwned(context, reactionsOfOne, { column: 'message_id', id })
    checkpoint()
    await db.use((db) => deleteSlice(db, { channelId, afterSeq, lastSeq }))
    afterSeq = lastSeq
    return true
  }
  do checkpoint()
  while (await batch.run(step))
}

type Next = { channelId: string; afterSeq: number; limit: number }
type PurgeSlice = { lastSeq: number | null; crowded: string[] }

async function selectPurgeSlice(
  db: DbConnection,
  { channelId, afterSeq, limit }: Next,
): Promise<PurgeSlice> {
  const [slice] = await db<PurgeSlice[]>`
    select
      max(next.seq) as last_seq,
      coalesce(array_agg(next.id) filter (where next.is_crowded), '{}') as crowded
    from (
      select
        msg.id, msg.seq,
        (
          select true
          from reactions r
          where r.message_id = msg.id
          order by r.emoji, r.user_id -- of two indexes, the one that begins with the message
          offset ${MOST_ROWS}
          limit 1
        ) as is_crowded
      from messages msg
      where msg.channel_id = ${channelId}
        and msg.seq > ${afterSeq}
      order by msg.seq
      limit ${limit}
    ) next`
  return slice ?? { lastSeq: null, crowded: [] }
}

type Seqs = { channelId: string; afterSeq: number; lastSeq: number }

const deleteSlice = (db: DbConnection, { channelId, afterSeq, lastSeq }: Seqs) => db`
  with found as materialized (
    select ctid
    from messages
    where channel_id = ${channelId}
      and seq > ${afterSeq}
      and seq <= ${lastSeq}
    order by seq
    for update skip locked
  )
  delete from messages
  where ctid = any(array(select ctid from found))`
