import { contract, limits } from '@parley/contract'
import { noteAct } from '../../core/audit.ts'
import { implement } from '../../core/operation.ts'
import { channelNotFound } from '../../core/refusals.ts'
import type { Fragment, Tx } from '../../db/client.ts'
import { hasPart } from '../../db/sql.ts'
import { requireApp } from '../apps/view.ts'
import { isOpen, selectChannel } from '../channels/access.ts'
import { decodeNumberCursor, encodeCursor } from '../cursors.ts'
import { selectFirstSeq } from '../messages/first-seq.ts'
import { messagesOf, selectMessagePage } from '../messages/page.ts'

export const messages = implement(
  contract.inspect.messages,
  async (ctx, { appId, channelId, q, userId, sentBefore, limit, cursor }) => {
    const { db } = ctx
    await requireApp(db, appId)
    const [channel] = await selectChannel(db, appId, channelId)
    if (!channel) throw channelNotFound()
    // A cursor's number was read from this very list.
    const before =
      cursor === undefined ? db`true` : db`msg.seq < ${decodeNumberCursor(cursor)}::bigint`
    const since = sentBefore && (await firstSeqSince(db, { appId, channelId, time: sentBefore }))
    const listed = db`
      msg.channel_id = ${channelId}
        and ${userId === undefined ? db`true` : db`msg.user_id collate "C" = ${userId}`}
        and ${before}
        and ${since === undefined ? db`true` : db`msg.seq < ${since}::int`}`
    const slice = q === undefined ? undefined : await selectMessageSlice(db, listed)
    const rows = db`
      select msg.*
      from messages msg
      where ${listed}
        and ${slice === undefined ? db`true` : db`msg.seq >= ${slice.oldest}`}
        and ${q === undefined ? db`true` : hasPart(db, db`msg.text`, q)}
      order by msg.seq desc
      limit ${limit + 1}`
    const order = db`msg.seq desc`
    const { shown, isCut } = await selectMessagePage(db, { viewer: null, rows, order })
    const page = messagesOf(shown.slice(0, limit))
    const last = isCut || shown.length > limit ? page.at(-1)?.seq : slice?.next
    if (!isOpen(channel.type))
      noteAct(ctx, {
        operation: 'inspect.messages',
        appId,
        target: { channelId, from: page.at(-1)?.seq ?? null, to: page[0]?.seq ?? null },
      })
    return { messages: page, nextCursor: last ? encodeCursor(String(last), '') : null }
  },
)

type MessageSlice = { oldest: number; hasMore: boolean }

/**
 * The newest of the messages: as many as a call looks at, and where a search goes on after them, if
 * there are more.
 */
async function selectMessageSlice(db: Tx, listed: Fragment) {
  const [{ oldest, hasMore } = { oldest: 0, hasMore: false }] = await db<MessageSlice[]>`
    select
      coalesce(min(slice.seq) filter (where slice.is_seen), 0) as oldest,
      count(*) filter (where slice.is_seen) < count(*)
        or count(*) = ${limits.inspectSlice} as has_more
    from (
      select
        newest.seq,
        sum(newest.bytes) over (order by newest.seq desc) - newest.bytes
          < ${limits.inspectSliceBytes} as is_seen
      from (
        select msg.seq, octet_length(msg.text) as bytes
        from messages msg
        where ${listed}
        order by msg.seq desc
        limit ${limits.inspectSlice}
      ) newest
    ) slice`
  return { oldest, next: hasMore ? oldest : undefined }
}

/**
 * The seq of the first message since a time. Times never contradict seqs, so a search finds it in
 * 32 steps, whatever the channel's length.
 */
async function firstSeqSince(
  db: Tx,
  { appId, channelId, time }: { appId: string; channelId: string; time: string },
) {
  const seq = selectFirstSeq(db, {
    channelId: db`${channelId}`,
    bounds: db`
      select 0 as low, c.last_seq + 1 as high
      from channels c
      where c.id = ${channelId}
        and c.app_id is not distinct from ${appId}`,
    isBefore: db`msg.created_at < ${time}::timestamptz`,
  })
  const [found] = await db<{ seq: number }[]>`
    select found.seq
    from (${seq}) found`
  return found?.seq ?? 0
}
