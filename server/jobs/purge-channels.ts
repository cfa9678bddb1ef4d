import { type ChannelEventType, limits, topics } from '@parley/contract'
import type { EventPublisher } from '../core/event-bus.ts'
import type { DbConnection } from '../db/client.ts'
import { FIRST_ID } from '../db/sql.ts'
import {
  areEventsKept,
  eraseDirectName,
  selectNamingTopics,
} from '../features/users/erase-names.ts'
import type { Rewriting } from '../features/users/rewrite-events.ts'
import {
  deleteOwned,
  type Owned,
  type RetentionContext,
  repeatUntilNone,
} from './delete-in-steps.ts'
import { purgeMessages } from './purge-messages.ts'
import { BATCH } from './retention.ts'
import { removeTextsIn } from './text-removals.ts'

type ChannelPurgeContext = RetentionContext & { publisher: EventPublisher }
type DeletedCursor = { deletedAt: string; id: string }
type DeletedChannel = PurgedChannel & DeletedCursor & { isDue: boolean }

const START = { deletedAt: '-infinity', id: FIRST_ID }

/**
 * Purges deleted channels in the order of their deletion. A pass begins after the channel in which
 * the last one ended, and then begins again: neither those that wait for their events to expire nor
 * one for which a turn is too short delay the others by more than a turn.
 */
export function createChannelPurge() {
  let after: DeletedCursor = START
  const purgeRest = async (context: ChannelPurgeContext) => {
    const { db, checkpoint, attempt } = context
    for (;;) {
      checkpoint()
      const deleted = await db.use((db) => selectDeleted(db, after))
      for (const { isDue, ...channel } of deleted) {
        // Before its purge, which may take more than this turn.
        after = channel
        if (isDue) await attempt(() => purgeChannel(context, channel))
      }
      if (deleted.length > 0) continue
      after = START
      return
    }
  }
  return async (context: ChannelPurgeContext) => {
    await context.db.use(deleteUnfinished)
    const isAtStart = after === START
    await purgeRest(context)
    if (!isAtStart) await purgeRest(context)
  }
}

/** The content of those that only wait for their events to expire is gone already. */
const selectDeleted = (db: DbConnection, after: DeletedCursor) => db<DeletedChannel[]>`
  select
    c.app_id, c.id, c.deleted_at::text as deleted_at,
    not ${areEventsKept(db)}
      or exists (
        select
        from messages msg
        where msg.channel_id = c.id
      )
      or exists (
        select
        from members m
        where m.channel_id = c.id
      ) as is_due
  from (
    select *
    from channels
    where deleted_at is not null
      and deleted_at < 'infinity'
      and deleted_at >= ${after.deletedAt}
      and (deleted_at, id) > (${after.deletedAt}, ${after.id})
    order by deleted_at, id
    limit ${BATCH}
  ) c
  order by c.deleted_at, c.id`

type PurgedChannel = { appId: string; id: string }

/** Marks channels of unfinished imports as deleted, unless their file is being sent again. */
const deleteUnfinished = (db: DbConnection) => db`
  update channels
  set deleted_at = now()
  where id in (
    select c.id
    from channels c
    where c.deleted_at = 'infinity'
      and c.updated_at < now() - ${limits.imports.unfinishedDays} * interval '1 day'
    limit ${BATCH}
  )
    and deleted_at = 'infinity'
    and updated_at < now() - ${limits.imports.unfinishedDays} * interval '1 day'`

/**
 * In this order: rows that refer to another are deleted before it, because a cascade would have no
 * limit. Messages come last: while there are any, there may be rows of all other kinds.
 */
const contentOfChannel: Owned[] = [
  { table: 'imported_rows' },
  { table: 'read_marks', order: ['user_id', 'seq'] },
  { table: 'tombstone_counts', order: ['user_id', 'part'] },
]
const membersOfChannel: Owned[] = [
  { table: 'members', order: ['user_id'], skipsLocked: true },
  { table: 'former_members', order: ['user_id'] },
]
/** All events except the deletion, which clients may still have to get. */
const eventsOfChannel: Owned = {
  table: 'events',
  order: ['"offset"'],
  keptType: 'channel.deleted' satisfies ChannelEventType,
}

/**
 * Deletes everything of a deleted channel. Its former members are kept as long as its events: by
 * these the erasure of a user finds the channel.
 */
export async function purgeChannel(context: ChannelPurgeContext, channel: PurgedChannel) {
  const { appId, id } = channel
  const owner = { column: 'channel_id', id } as const
  await purgeContent(context, channel)
  const { ofChannel, ofMembers, areEventsKept } = await context.db.use((db) =>
    selectNamingTopics(db, { appId, channelId: id }),
  )
  if (areEventsKept) return retireMembers(context, id)
  for (const topic of ofMembers) await forgetNameIn(context, { appId, id, topic })
  await deleteOwned(context, eventsOfChannel, { column: 'topic', id: ofChannel })
  for (const rows of membersOfChannel) await deleteOwned(context, rows, owner)
  await context.db.use(
    (db) => db`
      delete from channels
      where id = ${id}
        and deleted_at is not null
        and deleted_at < 'infinity'`,
  )
}

/** Turns members into former members, so that the channel is in no user's list. */
function retireMembers(context: RetentionContext, id: string) {
  let after = ''
  return repeatUntilNone(context, async (db, limit) => {
    const [retired] = await db<{ last: string; count: number }[]>`
      with found as materialized (
        select ctid as row_id, *
        from members
        where channel_id = ${id}
          and user_id > ${after}
        order by user_id
        limit ${limit}
      ),
      former as (
        insert into former_members (app_id, channel_id, user_id)
        select app_id, channel_id, user_id
        from found
        on conflict do nothing
      ),
      deleted as (
        delete from members
        where ctid = any(array(select row_id from found))
      )
      select user_id as last, (select count(*)::int from found) as count
      from found
      order by user_id desc
      limit 1`
    after = retired?.last ?? after
    return { count: retired?.count ?? 0 }
  })
}

export async function purgeContent(context: ChannelPurgeContext, { appId, id }: PurgedChannel) {
  // Events of it may be kept, and its messages say which of them quote a deleted text.
  await removeTextsIn(context, topics.channel(appId, id))
  for (const rows of contentOfChannel)
    await deleteOwned(context, rows, { column: 'channel_id', id })
  await purgeMessages(context, id)
}

/** Removes the other member's name from the event by which a member got a direct message. */
async function forgetNameIn(
  { db, checkpoint, batch, publisher }: ChannelPurgeContext,
  { appId, id: channelId, topic }: PurgedChannel & { topic: string },
) {
  for (let afterOffset: number | null = 0; afterOffset !== null; ) {
    checkpoint()
    const from: number = afterOffset
    const { after, isRewritten }: Rewriting = await batch.run((limit) =>
      db.use((db) =>
        eraseDirectName(db, { appId, channelId }, { topic, afterOffset: from, limit }),
      ),
    )
    if (isRewritten) publisher.broadcast({ kind: 'rewritten', topic })
    afterOffset = after
  }
}
