import { contract, limits } from '@parley/contract'
import { noteAct } from '../../core/audit.ts'
import type { Transaction } from '../../core/context.ts'
import { ApiError } from '../../core/errors.ts'
import type { LockedChannel } from '../../core/event-buffer.ts'
import { implement } from '../../core/operation.ts'
import type { Tx } from '../../db/client.ts'
import { type DatedMessage, lockedMessageForApp, lockedMessageForAuthor } from './access.ts'
import type { Thread } from './batch-counters.ts'
import { writeTombstones } from './write-tombstones.ts'

/** Deletes a message: its author can while it is new, the app's backend always. */
export const remove = implement(contract.messages.delete, async (ctx, ref) => {
  const { caller } = ctx
  const { channel, message } =
    caller.userId === null
      ? await lockedMessageForApp(ctx, { ...ref, appId: caller.appId })
      : await lockedMessageForAuthor({ ...ctx, caller }, ref)
  if (caller.userId !== null && !canStillDelete(message, message.now)) {
    const minutes = limits.deleteWindowSeconds / 60
    throw new ApiError(
      'FORBIDDEN',
      `A message can only be deleted within ${minutes} minutes of sending it`,
    )
  }
  await tombstone(ctx, channel, [message])
  const { userId } = message
  if (userId !== caller.userId)
    noteAct(ctx, { operation: 'messages.delete', target: { ...ref, userId } })
  return { success: true, messageId: message.id, deletedAt: message.now }
})

const canStillDelete = ({ createdAt }: { createdAt: string }, now: string) =>
  Date.parse(now) - Date.parse(createdAt) <= limits.deleteWindowSeconds * 1000

/**
 * Turns messages into tombstones, deleted at their `now`. Their content is removed, also from
 * stored events about them; their seq stays.
 */
export async function tombstone(
  ctx: Pick<Transaction, 'db' | 'emit' | 'queueWrite'>,
  channel: LockedChannel,
  messages: DatedMessage[],
) {
  const threads = await readThreads(ctx.db, messages)
  const tombstones = messages.map((message) => {
    const { id: messageId, seq, createdRev, now: deletedAt, parentId, replyCount } = message
    const thread = threads.get(parentId ?? '')
    if (thread) thread.replyCount -= 1
    const parent = thread ? { parent: { id: thread.id, replyCount: thread.replyCount } } : {}
    let rev = 0
    const payloadAt = (next: number) => {
      rev = next
      return { channelId: channel.id, messageId, seq, deletedAt, ...parent }
    }
    const payload = ctx.emit(channel, 'message.deleted', payloadAt, messageId)
    if (thread) thread.rev = rev
    const envelope = JSON.stringify({ type: 'message.deleted', payload })
    return { id: messageId, rev, createdRev, replyCount, deletedAt, envelope }
  })
  if (tombstones.length === 0) return
  // A root that is deleted together with its replies has the counts of its thread.
  const merged = tombstones.map((each) => ({ ...each, ...threads.get(each.id) }))
  const { appId, id: channelId } = channel
  const written = { appId, channelId, tombstones: merged, threads: [...threads.values()] }
  ctx.queueWrite(writeTombstones(ctx.db, written))
}

/**
 * The same in a channel that nobody sees, yet or any more: it gets no events, and revs stay. Stored
 * events of a deleted channel may still be sent to webhooks.
 */
export async function tombstoneUnseen(
  { db, queueWrite }: Pick<Transaction, 'db' | 'queueWrite'>,
  { appId, channelId }: { appId: string; channelId: string },
  messages: DatedMessage[],
) {
  if (messages.length === 0) return
  const threads = await readThreads(db, messages)
  for (const { parentId } of messages) {
    const thread = threads.get(parentId ?? '')
    if (thread !== undefined) thread.replyCount -= 1
  }
  const tombstones = messages.map(({ id, seq, rev, replyCount, now: deletedAt }) => {
    const payload = { channelId, messageId: id, seq, deletedAt }
    const envelope = JSON.stringify({ type: 'message.deleted', payload })
    const count = threads.get(id)?.replyCount ?? replyCount
    return { id, rev, createdRev: null, deletedAt, envelope, replyCount: count }
  })
  queueWrite(writeTombstones(db, { appId, channelId, tombstones, threads: [...threads.values()] }))
}

/** The roots of the threads in which these messages are replies, by id. */
async function readThreads(db: Tx, messages: DatedMessage[]) {
  const rootIds = messages.flatMap(({ parentId }) => parentId ?? [])
  if (rootIds.length === 0) return new Map<string, Thread>()
  const roots = await db<Thread[]>`
    select id, reply_count, rev
    from messages
    where id = any(${rootIds}::uuid[])`
  return new Map(roots.map((root) => [root.id, root]))
}
