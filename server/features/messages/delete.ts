import { contract, limits, topics } from '@parley/contract'
import { noteAct } from '../../core/audit.ts'
import type { Transaction } from '../../core/context.ts'
import { ApiError } from '../../core/errors.ts'
import type { LockedChannel } from '../../core/event-buffer.ts'
import { implement } from '../../core/operation.ts'
import { isStoredWhole } from '../../core/stored-envelope.ts'
import type { Tx } from '../../db/client.ts'
import { ALL_AUTHORS, TOMBSTONE_PART } from '../tombstones.ts'
import { userSummary } from '../users/view.ts'
import { type DatedMessage, lockedMessageForApp, lockedMessageForAuthor } from './access.ts'
import type { Thread } from './batch-counters.ts'

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
  ctx: Pick<Transaction, 'db' | 'emit' | 'write'>,
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
  const topic = topics.channel(channel.appId, channel.id)
  ctx.write(writeTombstones(ctx.db, { topic, tombstones: merged, threads: [...threads.values()] }))
}

/**
 * The same in a channel that nobody sees yet, because an import has not finished it: there are no
 * events, and revs stay.
 */
export async function tombstoneUnseen(
  { db, write }: Pick<Transaction, 'db' | 'write'>,
  { appId, channelId }: { appId: string; channelId: string },
  messages: DatedMessage[],
) {
  if (messages.length === 0) return
  const threads = await readThreads(db, messages)
  for (const { parentId } of messages) {
    const thread = threads.get(parentId ?? '')
    if (thread !== undefined) thread.replyCount -= 1
  }
  const tombstones = messages.map(({ id, rev, replyCount, now: deletedAt }) => ({
    ...{ id, rev, createdRev: null, deletedAt, envelope: '' },
    replyCount: threads.get(id)?.replyCount ?? replyCount,
  }))
  const topic = topics.channel(appId, channelId)
  write(writeTombstones(db, { topic, tombstones, threads: [...threads.values()] }))
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

type Written = {
  topic: string
  tombstones: { id: string; createdRev: number | null }[]
  threads: Thread[]
}

/**
 * A root that is deleted together with its replies is in both lists, and written once. Each table
 * is also asked for the ids: joined alone, it may be read from end to end if it was small when the
 * statement was prepared.
 */
function writeTombstones(db: Tx, { topic, tombstones, threads }: Written) {
  const ids = db`any(${tombstones.map(idOf)}::uuid[])`
  const createdRevs = tombstones.flatMap(({ createdRev }) => createdRev ?? [])
  const asDeleted = db`set type = 'message.deleted', envelope = deleted.envelope`
  return db`
    with deleted as (
      select *
      from jsonb_to_recordset(${db.json(tombstones)}) as tombstone (
        id uuid, rev int, "createdRev" int, "replyCount" int, "deletedAt" timestamptz, envelope text
      )
    ),
    reactions as (
      delete from reactions
      where message_id = ${ids}
    ),
    pins as (
      delete from pins
      where message_id = ${ids}
    ),
    streams as (
      delete from message_streams
      where message_id = ${ids}
    ),
    counts as (
      insert into tombstone_counts as tc (app_id, channel_id, user_id, part, count)
      select msg.app_id, msg.channel_id, author.id, msg.seq / ${TOMBSTONE_PART}::int, count(*)
      from deleted
      join messages msg on msg.id = deleted.id and msg.id = ${ids}
      cross join lateral (values (msg.user_id), (${ALL_AUTHORS})) as author (id)
      where msg.silent is not true
      group by 1, 2, 3, 4
      on conflict (channel_id, user_id, part) do update
      set count = tc.count + excluded.count
    ),
    events as (
      update events e
      ${asDeleted}
      from deleted
      where e.message_id = deleted.id
        and e.message_id = ${ids}
        and ${isStoredWhole(db)}
    ),
    created as (
      update events e
      ${asDeleted}
      from deleted
      where e.topic = ${topic}
        and e."offset" = any(${createdRevs}::int[])
        and e."offset" = deleted."createdRev"
        and e.message_id is not distinct from deleted.id
        and not ${isStoredWhole(db)}
    ),
    quotes as (
      update events e
      set envelope = jsonb_set(
        e.envelope::jsonb,
        '{payload,message,quotedMessage}',
        e.envelope::jsonb #> '{payload,message,quotedMessage}' || jsonb_build_object(
          'rev', deleted.rev, 'text', '', 'attachmentCount', 0, 'attachmentType', null,
          'deletedAt', deleted."deletedAt"
        ) || case
          when author.deleted_at is null then '{}'
          else jsonb_build_object('user', ${userSummary(db, db`author`)})
        end
      )::text
      from deleted
      join messages quoted on quoted.id = deleted.id and quoted.id = ${ids}
      join users author
        on author.app_id = quoted.app_id
        and author.id = quoted.user_id
      join messages msg on msg.quoted_id = deleted.id and msg.quoted_id = ${ids}
      where e.message_id = msg.id
        and e.type in ('message.new', 'message.updated')
        and ${isStoredWhole(db)}
        and msg.id not in (select id from deleted)
    ),
    threads as (
      update messages msg
      set reply_count = thread."replyCount", rev = thread.rev
      from jsonb_to_recordset(${db.json(threads)}) as thread (
        id uuid, "replyCount" int, rev int
      )
      where msg.id = thread.id
        and msg.id = any(${threads.map(idOf)}::uuid[])
        and thread.id not in (select id from deleted)
    )
    update messages msg
    set
      text = '', mentions = '{}', attachments = '[]', link_previews = null, custom = null,
      streaming = null, interrupted = null,
      rev = deleted.rev, reply_count = deleted."replyCount",
      updated_at = deleted."deletedAt", deleted_at = deleted."deletedAt"
    from deleted
    where msg.id = deleted.id
      and msg.id = ${ids}`
}

const idOf = ({ id }: { id: string }) => id
