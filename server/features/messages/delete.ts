import { contract, limits } from '@parley/contract'
import type { Ctx, LockedChannel } from '../../context.ts'
import { fail } from '../../failure.ts'
import { implement } from '../../implement.ts'
import { type DatedMessage, lockedMessageForApp, lockedMessageForAuthor } from './access.ts'

/** Deletes a message: its author while it is young, the app's backend always. */
export const remove = implement(contract.messages.delete, async (ctx, ref) => {
  const { caller } = ctx
  if (caller.userId === null) {
    const { channel, message } = await lockedMessageForApp(ctx, { ...ref, appId: caller.appId })
    return bury(ctx, channel, message)
  }
  const { channel, message } = await lockedMessageForAuthor({ ...ctx, caller }, ref)
  if (!canStillDelete(message, message.now)) return fail('FORBIDDEN', 'A message can be deleted for 15 minutes')
  return bury(ctx, channel, message)
})

export const canStillDelete = ({ createdAt }: { createdAt: string }, now: string) =>
  Date.parse(now) - Date.parse(createdAt) <= limits.deleteWindowSeconds * 1000

/** Leaves a tombstone: the content goes from the message and from the events kept of it, its seq stays. */
async function bury(ctx: Pick<Ctx, 'db' | 'emit' | 'write'>, channel: LockedChannel, message: DatedMessage) {
  const { db } = ctx
  const { id: messageId, seq, now: deletedAt, parentId } = message
  const [root] =
    parentId === null ? [] : await db<{ id: string; replyCount: number }[]>`select id, reply_count - 1 as reply_count from messages where id = ${parentId}`
  const gone = { channelId: channel.id, messageId, seq, deletedAt, ...(root ? { parent: root } : {}) }
  let rev = 0
  const tell = (next: number) => {
    rev = next
    return gone
  }
  ctx.emit(channel, 'message.deleted', tell, messageId)
  ctx.write(db`
    with reactions as (delete from reactions where message_id = ${messageId}),
      pins as (delete from pins where message_id = ${messageId}),
      thread as (update messages set reply_count = reply_count - 1, rev = ${rev} where id = ${parentId}),
      kept as (update events set envelope = ${JSON.stringify({ type: 'message.deleted', payload: gone })} where message_id = ${messageId})
    update messages
    set text = '', mentions = '{}', attachments = '[]', link_previews = null, rev = ${rev}, updated_at = ${deletedAt}, deleted_at = ${deletedAt}
    where id = ${messageId}`)
  return { success: true, messageId, deletedAt }
}
