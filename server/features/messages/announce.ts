import type { Message } from '@parley/contract'
import type { WriteContext } from '../../core/context.ts'
import { fail } from '../../core/errors.ts'
import type { LockedCounters } from '../../core/event-buffer.ts'
import { asBroadcast, selectMessages, toMessage } from './view.ts'

/** Tells the channel what a message is now, after the write; gives the message the event's rev. Answers as the viewer sees it. */
export async function publishMessageUpdate(
  ctx: Pick<WriteContext, 'db' | 'emit' | 'write'>,
  {
    channel,
    messageId,
    viewer,
  }: { channel: LockedCounters; messageId: string; viewer: string | null },
) {
  const message = await viewMessage(ctx, { messageId, viewer })
  const { message: announced } = ctx.emit(
    channel,
    'message.updated',
    (rev) => ({ channelId: channel.id, message: asBroadcast({ ...message, rev }) }),
    messageId,
  )
  writeRev(ctx, announced)
  return { ...message, rev: announced.rev }
}

/** A message that is known to exist, as the viewer sees it. */
export async function viewMessage(
  { db }: Pick<WriteContext, 'db'>,
  { messageId, viewer }: { messageId: string; viewer: string | null },
): Promise<Message> {
  const [view] = await selectMessages(db, { viewer, which: db`where m.id = ${messageId}` })
  return view ? toMessage(view) : fail('NOT_FOUND', 'Message not found')
}

export const writeRev = (
  ctx: Pick<WriteContext, 'db' | 'write'>,
  { id, rev }: { id: string; rev: number },
) => writeRevs(ctx, new Map([[id, rev]]))

/** Gives messages the revs of the events that told of their last change. */
export const writeRevs = (
  { db, write }: Pick<WriteContext, 'db' | 'write'>,
  revs: Map<string, number>,
) =>
  write(
    db`update messages m set rev = r.rev from unnest(${[...revs.keys()]}::uuid[], ${[...revs.values()]}::int[]) as r (id, rev) where m.id = r.id`,
  )
