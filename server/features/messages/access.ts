import type { Context, WriteContext } from '../../core/context.ts'
import { messageNotFound, notAuthor } from '../../core/refusals.ts'
import type { Tx } from '../../db/client.ts'
import { pipelined } from '../../db/pipelined.ts'
import type { MessageRow } from '../../db/rows.ts'
import {
  channelForMember,
  lockedChannelForApp,
  lockedChannelForMember,
} from '../channels/access.ts'

type MessageRef = { channelId: string; messageId: string }
/** A message, and the time at which it was read by the clock of the database. */
export type DatedMessage = MessageRow & { now: string }

/** A message, not deleted, of a channel that the caller is a member of; the channel is locked. */
export async function lockedMessageForMember(ctx: WriteContext<'user'>, ref: MessageRef) {
  const [{ channel }, [message]] = await pipelined([
    lockedChannelForMember(ctx, ref.channelId),
    selectMessage(ctx.db, ref),
  ])
  return { channel, message: requireMessage(message) }
}

/** A message like `lockedMessageForMember`, which the caller wrote. */
export async function lockedMessageForAuthor(ctx: WriteContext<'user'>, ref: MessageRef) {
  const found = await lockedMessageForMember(ctx, ref)
  requireAuthor(ctx, found.message)
  return found
}

/** A message that the caller wrote, as it is now: not locked. */
export async function messageForAuthor(ctx: Context<'user'>, ref: MessageRef) {
  const [, [message]] = await pipelined([
    channelForMember(ctx, ref.channelId),
    selectMessage(ctx.db, ref),
  ])
  return requireAuthor(ctx, requireMessage(message))
}

/** Any message that is not deleted, for the app's backend. */
export async function lockedMessageForApp(
  ctx: Pick<WriteContext, 'db'>,
  { appId, ...ref }: MessageRef & { appId: string },
) {
  const [channel, [message]] = await pipelined([
    lockedChannelForApp(ctx, appId, ref.channelId),
    selectMessage(ctx.db, ref),
  ])
  return { channel, message: requireMessage(message) }
}

/**
 * Sent right behind the query for the channel, whose check decides whether the message may be seen.
 */
const selectMessage = (db: Tx, { channelId, messageId }: MessageRef) => db<DatedMessage[]>`
  select *, clock_timestamp() as now
  from messages
  where id = ${messageId}
    and channel_id is not distinct from ${channelId}
    and deleted_at is null`

function requireAuthor({ caller }: Pick<Context<'user'>, 'caller'>, message: DatedMessage) {
  if (message.userId !== caller.userId) throw notAuthor()
  return message
}

function requireMessage(message: DatedMessage | undefined) {
  if (!message) throw messageNotFound()
  return message
}
