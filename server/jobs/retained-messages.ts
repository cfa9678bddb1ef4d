import { performance } from 'node:perf_hooks'
import { runInTransaction } from '../core/context.ts'
import type { EventPublisher } from '../core/event-bus.ts'
import type { Db, Tx } from '../db/client.ts'
import { inApp } from '../db/sql.ts'
import { type IdSlice, selectIdSlice } from '../features/abandoned.ts'
import { asLocked, lockChannels, selectChannel } from '../features/channels/access.ts'
import type { DatedMessage } from '../features/messages/access.ts'
import { tombstone } from '../features/messages/delete.ts'
import { isLive } from '../features/messages/view.ts'
import type { BatchSize } from './batch-size.ts'
import { createRetries } from './retries.ts'

const INTERVAL_MS = 3_600_000

type MessageRetentionContext = {
  db: Pick<Db, 'use'>
  publisher: EventPublisher
  /** Throws when there is no time for another step. */
  checkpoint: () => void
  /** Runs a part that may fail alone. Returns false if it failed, which was reported. */
  attempt: (work: () => Promise<void>) => Promise<boolean>
  batch: BatchSize
}
type Retention = { appId: string; days: number }
/** The walk over an app's channels: how far it has come, and when the last one ended. */
type RetentionWalk = { after?: string | undefined; finishedAt?: number; channels: ChannelRetries }
type ChannelRetries = ReturnType<typeof channelsOf>

/**
 * Deletes the messages that are older than their apps want to keep them, as if their authors had:
 * tombstones stay, and counts, threads and pins are right. Walks over the channels of each such app
 * once an hour, and continues in the next pass when the time is over. Apps take turns, and each app
 * and each channel fails alone: it is tried again in the next pass.
 */
export function createMessageRetention() {
  const walks = new Map<string, RetentionWalk>()
  let lastAppId = ''
  const expireInApp = async (context: MessageRetentionContext, retention: Retention) => {
    const walk: RetentionWalk = walks.get(keyOf(retention)) ?? { channels: channelsOf(retention) }
    walks.set(keyOf(retention), walk)
    const { finishedAt = Number.NEGATIVE_INFINITY, channels } = walk
    const isDue = performance.now() - finishedAt >= INTERVAL_MS
    if (isDue || channels.haveFailed()) lastAppId = retention.appId
    if (!isDue) return channels.repeat(context)
    do {
      context.checkpoint()
      walk.after = await expireInSlice(context, retention, walk)
    } while (walk.after !== undefined)
    walk.finishedAt = performance.now()
  }
  return async (context: MessageRetentionContext) => {
    const retentions = await context.db.use(selectRetentions)
    const keys = new Set(retentions.map(keyOf))
    for (const key of walks.keys()) {
      if (!keys.has(key)) walks.delete(key)
    }
    // An app with more than there is time for has its next turn after all others.
    const isNext = ({ appId }: Retention) => appId > lastAppId
    const inTurn = [...retentions.filter(isNext), ...retentions.filter((one) => !isNext(one))]
    for (const retention of inTurn) await context.attempt(() => expireInApp(context, retention))
  }
}

/** A change of the days begins another walk. */
const keyOf = ({ appId, days }: Retention) => `${appId}:${days}`

const selectRetentions = (db: Tx) => db<Retention[]>`
  select a.id as app_id, a.message_retention_days as days
  from apps a
  where a.message_retention_days is not null
    and a.deleted_at is null
  order by a.id`

const channelsOf = (retention: Retention) =>
  createRetries((context: MessageRetentionContext, { id }: IdRow) =>
    expireInChannel(context, retention, id),
  )

/** Returns the id to continue after; undefined at the end. */
async function expireInSlice(
  context: MessageRetentionContext,
  retention: Retention,
  { after, channels }: RetentionWalk,
) {
  const { db } = context
  const { appId } = retention
  const slice = await db.use((db) => selectIdSlice(db, { table: 'channels', appId, after }))
  for (const channel of await db.use((db) => selectChannels(db, { ...retention, slice })))
    await channels.attempt(context, channel)
  return slice.isLast ? undefined : slice.last
}

type RetentionSlice = Retention & { slice: IdSlice }
type IdRow = { id: string }

/** The channels whose oldest message is too old. */
const selectChannels = (db: Tx, { appId, days, slice }: RetentionSlice) => db<IdRow[]>`
  select within.id
  from (
    select id
    from channels c
    where ${inApp(db, db`c`, { appId, ...slice })}
      and deleted_at is null
    order by app_id, id
  ) within
  cross join lateral (
    select msg.created_at
    from messages msg
    where msg.channel_id = within.id
      and ${isLive(db)}
    order by msg.seq
    limit 1
  ) oldest
  where oldest.created_at < now() - ${days} * interval '1 day'`

async function expireInChannel(context: MessageRetentionContext, retention: Retention, id: string) {
  const { db, publisher, batch, checkpoint } = context
  const { appId } = retention
  const step = () => {
    checkpoint()
    return batch.run((limit) =>
      db.use((connection, signal) =>
        runInTransaction(connection, { appId, signal, publisher }, async (ctx) => {
          await lockChannels(ctx.db, appId, [id])
          const [channel] = await selectChannel(ctx.db, appId, id)
          if (!channel) return 0
          const expired = await selectExpired(ctx.db, { appId, channelId: id, limit })
          await tombstone(ctx, asLocked(channel), expired)
          return expired.length
        }),
      ),
    )
  }
  while ((await step()) > 0);
}

type ExpiredQuery = { appId: string; channelId: string; limit: number }

/**
 * Selects messages that are too old by the app's setting of now, oldest first. Seqs follow the
 * times, as far as it matters.
 */
const selectExpired = (db: Tx, { appId, channelId, limit }: ExpiredQuery) => db<DatedMessage[]>`
  select oldest.*, clock_timestamp() as now
  from (
    select *
    from messages msg
    where msg.channel_id = ${channelId}
      and ${isLive(db)}
    order by msg.seq
    limit ${limit}
  ) oldest
  where oldest.created_at < now() - (
    select a.message_retention_days * interval '1 day'
    from apps a
    where a.id = ${appId}
  )
  order by oldest.seq`
