import type { WriteContext } from '../../core/context.ts'
import { fail } from '../../core/errors.ts'
import type { Tx } from '../../db/client.ts'
import type { MessageRow } from '../../db/rows.ts'
import { lockedChannelForApp, lockedChannelForMember } from '../access.ts'

type Ref = { channelId: string; messageId: string }
export type DatedMessage = MessageRow & { now: string }

/** A live message of a channel that the caller is a member of; the channel is locked. */
export async function lockedMessageForMember(
  ctx: WriteContext<'user'>,
  { channelId, messageId }: Ref,
) {
  const [{ channel, standing }, [message]] = await Promise.all([
    lockedChannelForMember(ctx, channelId),
    selectLive(ctx.db, { channelId, messageId }),
  ])
  return { channel, standing, message: message ?? notFound() }
}

/** The same, if the caller wrote it. */
export async function lockedMessageForAuthor(ctx: WriteContext<'user'>, ref: Ref) {
  const found = await lockedMessageForMember(ctx, ref)
  if (found.message.userId !== ctx.caller.userId)
    return fail('FORBIDDEN', 'You are not the author of this message')
  return found
}

/** Any live message, for the app's backend. */
export async function lockedMessageForApp(
  ctx: Pick<WriteContext, 'db'>,
  { appId, channelId, messageId }: Ref & { appId: string },
) {
  const [channel, [message]] = await Promise.all([
    lockedChannelForApp(ctx, appId, channelId),
    selectLive(ctx.db, { channelId, messageId }),
  ])
  return { channel, message: message ?? notFound() }
}

/** Sent behind the lock of the channel; the channel's own check says whether it may be seen. */
const selectLive = (db: Tx, { channelId, messageId }: Ref) => db<DatedMessage[]>`
  select *, clock_timestamp() as now from messages where id = ${messageId} and channel_id = ${channelId} and deleted_at is null`

const notFound = () => fail('NOT_FOUND', 'Message not found')
