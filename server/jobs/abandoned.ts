import { performance } from 'node:perf_hooks'
import { runInTransaction, type Transaction } from '../core/context.ts'
import type { EventPublisher } from '../core/event-bus.ts'
import type { Db, Tx } from '../db/client.ts'
import {
  deleteIfAbandoned,
  type IdSlice,
  invitesOfAbandoned,
  isAbandonedChannel,
  isWithin,
  lockWorkspace,
  selectIdSlice,
} from '../features/abandoned.ts'
import { asLocked, lockChannels, selectChannel } from '../features/channels/access.ts'
import { markDeleted } from '../features/channels/delete.ts'
import { hasNoMembers } from '../features/workspaces/leave.ts'
import { removeInvites } from '../features/workspaces/remove-invites.ts'
import type { BatchSize } from './batch-size.ts'
import { createRetries } from './retries.ts'

const INTERVAL_MS = 3_600_000

type AbandonedContext = {
  db: Pick<Db, 'use'>
  publisher: EventPublisher
  /** Throws when there is no time for another step. */
  checkpoint: () => void
  /** Runs a part that may fail alone. Returns false if it failed, which was reported. */
  attempt: (work: () => Promise<void>) => Promise<boolean>
  batch: BatchSize
}
type Abandoned = { appId: string; id: string }
type Purge = {
  table: 'channels' | 'workspaces'
  select: (db: Tx, slice: IdSlice) => Promise<Abandoned[]>
  /** Returns whether there is more to remove, in another transaction. */
  remove: (ctx: Transaction, found: Abandoned, limit: number) => Promise<boolean>
}

type PurgeWalk = ReturnType<typeof createWalk>

/** A walk over a table, and how far it has come. */
const createWalk = (purge: Purge) => ({
  purge,
  after: undefined as string | undefined,
  retries: createRetries((context: AbandonedContext, found: Abandoned) =>
    removeInSteps(context, purge, found),
  ),
})

/**
 * Deletes channels, and then workspaces, whose last member left more than `days` days ago, and that
 * have not changed since then. Walks over all of them once an hour, and continues in the next pass
 * when its time is over. Each fails alone: it is tried again in the next pass. 0 turns it off.
 */
export function createAbandonedPurge(days: number) {
  const walks = purgesAfter(days).map(createWalk)
  let [left, finishedAt] = [[...walks], Number.NEGATIVE_INFINITY]
  return async (context: AbandonedContext) => {
    if (days === 0) return
    if (performance.now() - finishedAt < INTERVAL_MS) {
      for (const { retries } of walks) await retries.repeat(context)
      return
    }
    for (let [walk] = left; walk; [walk] = left) {
      context.checkpoint()
      walk.after = await purgeSlice(context, walk)
      if (walk.after === undefined) left = left.slice(1)
    }
    left = [...walks]
    finishedAt = performance.now()
  }
}

/** Purges the slice after an id. Returns the id to continue after; undefined at the end. */
async function purgeSlice(context: AbandonedContext, { purge, after, retries }: PurgeWalk) {
  const { db } = context
  const { table, select } = purge
  const slice = await db.use((db) => selectIdSlice(db, { table, after }))
  for (const found of await db.use((db) => select(db, slice))) await retries.attempt(context, found)
  return slice.isLast ? undefined : slice.last
}

async function removeInSteps(context: AbandonedContext, { remove }: Purge, found: Abandoned) {
  const { db, publisher, checkpoint, batch } = context
  const step = () => {
    checkpoint()
    return batch.run((limit) =>
      db.use((connection, signal) =>
        runInTransaction(connection, { appId: found.appId, signal, publisher }, (ctx) =>
          remove(ctx, found, limit),
        ),
      ),
    )
  }
  while (await step());
}

const purgesAfter = (days: number): Purge[] => [
  {
    table: 'channels',
    select: async (db, slice) => db<Abandoned[]>`
      select app_id, id
      from channels c
      where ${isWithin(db, slice)}
        and ${isAbandonedChannel(db)}
        and ${isChannelUnchanged(db, days)}
        and ${isOfShownApp(db)}
      order by id`,
    remove: (ctx, found) => removeChannel(ctx, found, days),
  },
  {
    table: 'workspaces',
    select: async (db, slice) => db<Abandoned[]>`
      select app_id, id
      from workspaces w
      where ${isWithin(db, slice)}
        and ${hasNoMembers(db)}
        and ${isUnchanged(db, days)}
        and ${isOfShownApp(db)}
      order by id`,
    remove: async ({ db }, found, limit) => {
      await lockWorkspace(db, found)
      const mayDelete = isUnchanged(db, days)
      const invites = invitesOfAbandoned(db, { ...found, limit, mayDelete })
      if ((await removeInvites(db, invites, limit)).count > 0) return true
      await deleteIfAbandoned(db, found.id, mayDelete)
      return false
    },
  },
]

/** During the import of an app, members come later than their channels. */
const isOfShownApp = (db: Tx) => db`
  exists (
    select
    from apps a
    where a.id = app_id
      and num_nulls(a.deleted_at) = 1
  )`

const isUnchanged = (db: Tx, days: number) => db`updated_at < now() - ${days} * interval '1 day'`

const isChannelUnchanged = (db: Tx, days: number) => db`(
  ${isUnchanged(db, days)}
  and last_activity_at < now() - ${days} * interval '1 day'
)`

async function removeChannel(ctx: Transaction, { appId, id }: Abandoned, days: number) {
  const { db } = ctx
  await lockChannels(db, appId, [id])
  const [channel] = await selectChannel(db, appId, id, isChannelUnchanged(db, days))
  // A user may have joined or changed it meanwhile.
  if (channel?.memberCount === 0) markDeleted(ctx, asLocked(channel))
  return false
}
