import type { ChannelEvent, Message } from '@parley/contract'
import type { WriteContext } from '../../core/context.ts'
import type { LockedCounters } from '../../core/event-buffer.ts'
import { messageNotFound } from '../../core/refusals.ts'
import { asBroadcast, selectMessages } from './view.ts'

type UpdateCause = Pick<ChannelEvent<'message.updated'>, 'pin'>
type ViewQuery = { messageId: string; viewer: string | null }

/**
 * Publishes a message as it is after a write, and gives it the rev of that event. Returns the
 * message as the viewer sees it.
 */
export async function publishMessageUpdate(
  ctx: Pick<WriteContext, 'db' | 'emit' | 'queueWrite'>,
  { channel, messageId, viewer, pin }: ViewQuery & UpdateCause & { channel: LockedCounters },
) {
  const message = await viewMessage(ctx, { messageId, viewer })
  const { message: published } = ctx.emit(
    channel,
    'message.updated',
    (rev) => ({ channelId: channel.id, message: asBroadcast({ ...message, rev }), pin }),
    messageId,
  )
  writeRev(ctx, published)
  return { ...message, rev: published.rev }
}

/** A message that is known to exist, as the viewer sees it. */
export async function viewMessage(
  { db }: Pick<WriteContext, 'db'>,
  { messageId, viewer }: ViewQuery,
): Promise<Message> {
  const [message] = await selectMessages(db, { viewer, which: db`where msg.id = ${messageId}` })
  if (!message) throw messageNotFound()
  return message
}

export const writeRev = (
  ctx: Pick<WriteContext, 'db' | 'queueWrite'>,
  { id, rev }: { id: string; rev: number },
) => writeRevs(ctx, new Map([[id, rev]]))

/** Gives each message the rev of the event of its last change. */
export function writeRevs(
  { db, queueWrite }: Pick<WriteContext, 'db' | 'queueWrite'>,
  revById: Map<string, number>,
) {
  const ids = [...revById.keys()]
  const revs = [...revById.values()]
  queueWrite(db`
    update messages msg
    set rev = changed.rev
    from unnest(${ids}::uuid[], ${revs}::int[]) as changed (id, rev)
    where msg.id = changed.id`)
}
