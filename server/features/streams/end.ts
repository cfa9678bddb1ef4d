import type { Transaction } from '../../core/context.ts'
import type { LockedChannel } from '../../core/event-buffer.ts'
import type { Tx } from '../../db/client.ts'
import type { MessageRow } from '../../db/rows.ts'
import type { DatedMessage } from '../messages/access.ts'
import { hasContent } from '../messages/content-after.ts'
import { linksIn } from '../messages/links.ts'
import { mentionsIn } from '../messages/mentions.ts'
import { publishMessageUpdate } from '../messages/publish.ts'

type EndingStream = {
  channel: LockedChannel
  message: DatedMessage
  /** The text that is not stored in the message yet. */
  tail: string
  viewer: string | null
  isInterrupted: boolean
}
type EndContext = Pick<Transaction, 'db' | 'emit' | 'enqueue' | 'queueWrite'>

/** Stores the whole text of a message, derives from it what a text has, and sends its push. */
export async function endStream(
  ctx: EndContext,
  { channel, message, tail, viewer, isInterrupted }: EndingStream,
) {
  const messageId = message.id
  const text = message.text + tail
  if (linksIn(text).length > 0) ctx.enqueue('preview', { messageId })
  if (hasContent({ ...message, text })) enqueuePush(ctx, message)
  await ctx.db`
    update messages
    set
      text = ${text}, mentions = ${mentionsIn(text)},
      streaming = false, interrupted = ${isInterrupted ? true : null},
      updated_at = ${message.now}
    where id = ${messageId}`
  ctx.queueWrite(deleteStream(ctx.db, message))
  return publishMessageUpdate(ctx, { channel, messageId, viewer })
}

/** The one push of a message that has grown, as soon as it has ended and has content. */
export function enqueuePush(
  { enqueue }: Pick<Transaction, 'enqueue'>,
  { id: messageId, silent }: Pick<MessageRow, 'id' | 'silent'>,
) {
  if (!silent) enqueue('push-message', { messageId })
}

/** Ends a stream without its tail. */
export const deleteStream = (db: Tx, { id, appId }: Pick<MessageRow, 'id' | 'appId'>) => db`
  delete from message_streams
  where message_id = ${id}
    and app_id is not distinct from ${appId}`
