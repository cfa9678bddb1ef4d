import { contract } from '@parley/contract'
import type { Tx } from '../db/client.ts'
import { fail } from '../failure.ts'
import { type Implements, implementRead } from '../implement.ts'
import { channelForMember } from './access.ts'

const mark = implementRead(contract.reads.mark, async (ctx, { channelId, messageId }) => {
  const { channel, standing } = await channelForMember(ctx, channelId, messageId)
  const [moved] = await moveMarkers(ctx.db, {
    channelId,
    userId: ctx.caller.userId,
    lastReadSeq: standing.cursorSeq ?? channel.lastSeq,
    unreadAfterSeq: channel.lastSeq,
  })
  ctx.services.activity.seen(ctx.caller)
  return moved ? { success: true, lastReadSeq: moved.lastReadSeq } : fail('FORBIDDEN', 'You are not a member of this channel')
})

const unreadCount = implementRead(contract.reads.unreadCount, async ({ db, caller: { appId, userId } }) => {
  const [row] = await db<{ count: number }[]>`
    select coalesce(sum(${unread(db)}), 0)::int as count
    from members m join channels c on c.id = m.channel_id and c.deleted_at is null
    where m.app_id = ${appId} and m.user_id = ${userId}`
  return { count: row?.count ?? 0 }
})

export const reads = { mark, unreadCount } satisfies Implements<'reads'>

/**
 * Moves a member's markers forward, never back, in one statement; a move of the read position leaves a mark with its
 * time. The channel is not locked: no answer or event of others depends on the markers.
 */
export const moveMarkers = (
  db: Tx,
  { channelId, userId, lastReadSeq, unreadAfterSeq }: { channelId: string; userId: string; lastReadSeq: number; unreadAfterSeq: number },
) => db<{ lastReadSeq: number }[]>`
  with before as (
    select app_id, channel_id, user_id, last_read_seq from members where channel_id = ${channelId} and user_id = ${userId} for no key update
  ), marked as (
    insert into read_marks (app_id, channel_id, user_id, seq)
    select app_id, channel_id, user_id, ${lastReadSeq} from before where last_read_seq < ${lastReadSeq}
    on conflict do nothing
  )
  update members m
  set last_read_seq = greatest(m.last_read_seq, ${lastReadSeq}), unread_after_seq = greatest(m.unread_after_seq, ${unreadAfterSeq})
  from before where m.channel_id = before.channel_id and m.user_id = before.user_id
  returning m.last_read_seq`

/** The unread count of member row `m` in channel row `c`: all after the marker, less one's own and the deleted ones of others. */
export const unread = (db: Tx) => db`
  greatest(0, c.last_seq - m.unread_after_seq
    - (select count(*) from messages x where x.channel_id = c.id and x.user_id = m.user_id and x.seq > m.unread_after_seq)
    - (select count(*) from messages x where x.channel_id = c.id and x.deleted_at is not null and x.user_id <> m.user_id and x.seq > m.unread_after_seq))::int`
