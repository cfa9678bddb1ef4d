import type { Transaction } from '../../core/context.ts'
import { ApiError } from '../../core/errors.ts'
import type { Tx } from '../../db/client.ts'
import { lockedMessageForApp } from '../messages/access.ts'
import { publishMessageUpdate } from '../messages/publish.ts'
import { deleteStream, endStream } from './end.ts'

/** A message whose text grows. */
export type StreamRef = { appId: string; channelId: string; messageId: string }
type StreamTimes = { storeMs: number; quietMs: number; longestMs: number }

type StreamRow = { tail: string; quietMs: number; unstoredMs: number }

/** The stream of a message, locked, so that nothing is appended until the transaction ends. */
export async function lockStream(db: Tx, { appId, messageId }: Omit<StreamRef, 'channelId'>) {
  const since = (column: string) =>
    db`(extract(epoch from clock_timestamp() - ${db(column)}) * 1000)::float8`
  const [stream] = await db<StreamRow[]>`
    select ms.tail, ${since('appended_at')} as quiet_ms, ${since('stored_at')} as unstored_ms
    from message_streams ms
    where ms.message_id = ${messageId}
      and ms.app_id is not distinct from ${appId}
    for update`
  return stream
}

type StoreContext = Pick<Transaction, 'db' | 'emit' | 'enqueue' | 'queueWrite'>

/**
 * Stores what was appended to a message, or interrupts it if its author has been quiet, or it has
 * grown, for too long. Returns the milliseconds until it is due if another node stored it just now.
 * If the message or channel is gone, deletes the stream.
 */
export async function storeStream(
  ctx: StoreContext,
  ref: StreamRef,
  { storeMs, quietMs, longestMs }: StreamTimes,
) {
  const found = await lockedMessageForApp(ctx, ref).catch(unlessNotFound)
  if (!found) ctx.queueWrite(deleteStream(ctx.db, { id: ref.messageId, appId: ref.appId }))
  const stream = found && (await lockStream(ctx.db, ref))
  if (!stream) return 0
  const { tail } = stream
  const ageMs = Date.parse(found.message.now) - Date.parse(found.message.createdAt)
  if (stream.quietMs >= quietMs || ageMs >= longestMs) {
    await endStream(ctx, { ...found, tail, viewer: null, isInterrupted: true })
    return 0
  }
  const { unstoredMs } = stream
  // A time ahead of the clock is from before the clock was set back.
  if (unstoredMs >= 0 && unstoredMs < storeMs) return storeMs - unstoredMs
  const { channel, message } = found
  ctx.queueWrite(ctx.db`
    update message_streams
    set tail = '', stored_at = clock_timestamp()
    where message_id = ${message.id}
      and app_id is not distinct from ${ref.appId}`)
  if (tail === '') return 0
  await ctx.db`
    update messages
    set text = text || ${tail}, updated_at = ${message.now}
    where id = ${message.id}`
  await publishMessageUpdate(ctx, { channel, messageId: message.id, viewer: null })
  return 0
}

function unlessNotFound(error: unknown) {
  if (error instanceof ApiError && error.code === 'NOT_FOUND') return undefined
  throw error
}

/**
 * The streams that nobody has stored for this long: of each app the longest waiting, and apps take
 * turns. Those of apps in `resting` are left out.
 */
export const selectUnstored = (db: Tx, { unstoredMs, limit, ofApp, resting }: UnstoredQuery) =>
  db<StreamRef[]>`
    with recursive app (id) as (
      (
        select ms.app_id
        from message_streams ms
        order by ms.app_id
        limit 1
      )
      union all
      select next.app_id
      from app
      cross join lateral (
        select ms.app_id
        from message_streams ms
        where ms.app_id > app.id
        order by ms.app_id
        limit 1
      ) next
    )
    select unstored.app_id, unstored.channel_id, unstored.message_id
    from app
    cross join lateral (
      select
        ms.app_id, ms.channel_id, ms.message_id, ms.stored_at,
        row_number() over (order by ms.stored_at) as turn
      from message_streams ms
      where ms.app_id = app.id
        and ms.stored_at < statement_timestamp() - ${unstoredMs} * interval '1 millisecond'
      order by ms.stored_at
      limit ${ofApp}
    ) unstored
    where app.id <> all(${resting}::uuid[])
    order by unstored.turn, unstored.stored_at
    limit ${limit}`
type UnstoredQuery = {
  unstoredMs: number
  limit: number
  /** How many of an app at most. */
  ofApp: number
  resting: string[]
}
