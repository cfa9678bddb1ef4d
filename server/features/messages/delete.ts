import { contract, limits } from '@parley/contract'
import type { Transaction } from '../../core/context.ts'
import { fail } from '../../core/errors.ts'
import type { LockedChannel } from '../../core/event-buffer.ts'
import { implement } from '../../core/operation.ts'
import { type DatedMessage, lockedMessageForApp, lockedMessageForAuthor } from './access.ts'

export type { DatedMessage } from './access.ts'

/** Deletes a message: its author while it is young, the app's backend always. */
export const remove = implement(contract.messages.delete, async (ctx, ref) => {
  const { caller } = ctx
  if (caller.userId === null) {
    const { channel, message } = await lockedMessageForApp(ctx, { ...ref, appId: caller.appId })
    await tombstone(ctx, channel, [message])
    return { success: true, messageId: message.id, deletedAt: message.now }
  }
  const { channel, message } = await lockedMessageForAuthor({ ...ctx, caller }, ref)
  if (!canStillDelete(message, message.now))
    return fail('FORBIDDEN', 'A message can be deleted for 15 minutes')
  await tombstone(ctx, channel, [message])
  return { success: true, messageId: message.id, deletedAt: message.now }
})

export const canStillDelete = ({ createdAt }: { createdAt: string }, now: string) =>
  Date.parse(now) - Date.parse(createdAt) <= limits.deleteWindowSeconds * 1000

/** Leaves tombstones, now: the content goes from the messages and from the events kept of them, their seq stays. */
export async function tombstone(
  ctx: Pick<Transaction, 'db' | 'emit' | 'write'>,
  channel: LockedChannel,
  messages: DatedMessage[],
) {
  const { db } = ctx
  const parentIds = messages.flatMap(({ parentId }) => parentId ?? [])
  const roots =
    parentIds.length === 0
      ? []
      : await db<
          { id: string; replyCount: number }[]
        >`select id, reply_count from messages where id = any(${parentIds}::uuid[])`
  const threads = new Map(roots.map((root) => [root.id, { ...root, rev: 0 }]))
  const graves = messages.map(({ id: messageId, seq, now: deletedAt, parentId, replyCount }) => {
    const thread = threads.get(parentId ?? '')
    if (thread) thread.replyCount -= 1
    const parent = thread ? { parent: { id: thread.id, replyCount: thread.replyCount } } : {}
    let rev = 0
    const tell = (next: number) => {
      rev = next
      return { channelId: channel.id, messageId, seq, deletedAt, ...parent }
    }
    const payload = ctx.emit(channel, 'message.deleted', tell, messageId)
    if (thread) thread.rev = rev
    return {
      id: messageId,
      rev,
      replyCount,
      deletedAt,
      envelope: JSON.stringify({ type: 'message.deleted', payload }),
    }
  })
  if (graves.length > 0)
    ctx.write(
      writeGraves(
        db,
        graves.map((grave) => ({ ...grave, ...threads.get(grave.id) })),
        [...threads.values()],
      ),
    )
}

/** A root that goes together with its replies is among both, and written once. */
const writeGraves = (
  db: Transaction['db'],
  graves: { id: string }[],
  threads: { id: string }[],
) => db`
  with gone as (select * from jsonb_to_recordset(${db.json(graves)}) as g (id uuid, rev int, "replyCount" int, "deletedAt" timestamptz, envelope text)),
    reactions as (delete from reactions where message_id in (select id from gone)),
    pins as (delete from pins where message_id in (select id from gone)),
    kept as (
      update events e set type = 'message.deleted', envelope = gone.envelope
      from gone where e.message_id = gone.id
    ),
    threads as (
      update messages m set reply_count = t."replyCount", rev = t.rev
      from jsonb_to_recordset(${db.json(threads)}) as t (id uuid, "replyCount" int, rev int)
      where m.id = t.id and t.id not in (select id from gone)
    )
  update messages m
  set text = '', mentions = '{}', attachments = '[]', link_previews = null, rev = gone.rev, reply_count = gone."replyCount",
    updated_at = gone."deletedAt", deleted_at = gone."deletedAt"
  from gone where m.id = gone.id`
