import type { Transaction } from '../../core/context.ts'
import type { LockedChannel } from '../../core/event-buffer.ts'

/**
 * Deletes a channel for everybody. The pair, the cid, the client id and the workspace are free
 * again at once; the cleanup purges the content.
 */
export function markDeleted(
  ctx: Pick<Transaction, 'db' | 'emit' | 'queueWrite'>,
  channel: LockedChannel,
) {
  ctx.emit(channel, 'channel.deleted', () => ({ channelId: channel.id }))
  ctx.queueWrite(ctx.db`
    update channels
    set deleted_at = clock_timestamp(), client_id = null, workspace_id = null
    where id = ${channel.id}`)
}
