import { runInTransaction, type Transaction } from '../core/context.ts'
import type { EventPublisher } from '../core/event-bus.ts'
import type { Db } from '../db/client.ts'
import {
  deleteUserEvents,
  type ErasureTarget,
  eraseInChannel,
  type FoundTarget,
  finishErasure,
  removeReadMarks,
  selectErasureTargets,
} from '../features/users/erase.ts'
import { deleteInviteUses } from '../features/users/erase-invites.ts'
import { eraseNames, eraseTexts, selectNamingTopics } from '../features/users/erase-names.ts'
import { eraseReactions, selectReactions } from '../features/users/erase-reactions.ts'
import {
  beginWalk,
  emptyWaiting,
  eraseUnseen,
  hasMissed,
  type WaitingWalk,
} from '../features/users/erase-unseen.ts'
import type { BatchSize } from './batch-size.ts'
import { purgeContent } from './purge-channels.ts'

/** How many messages, reactions or other rows a step erases at most. */
export const STEP = 200
/** A waiting record of an import is only looked at, so a step looks at so many more. */
const ROWS_EACH = 5
/** More interrupted erasures than this are not remembered: they start again. */
const MAX_POSITIONS = 10_000

export type DeletedUsers = { appId: string; userIds: string[] }

export type ErasureContext = {
  db: Pick<Db, 'use'>
  publisher: EventPublisher
  /** Throws when there is no time for another step: completed steps stay done. */
  checkpoint: () => void
  /** Runs a part that the others do not depend on. False: it failed, and this was reported. */
  attempt: (work: () => Promise<void>) => Promise<boolean>
  batch: BatchSize
  positions: ErasurePositions
  /** Whether to wait for users whose rows others have locked, instead of leaving them out. */
  mayWait: boolean
}

/**
 * Up to which seq a deleted user's messages in a channel are erased, by channel and user, and up to
 * which offset their name is out of a topic. A deleted user writes no more and both only grow, so a
 * position never becomes wrong.
 */
export type ErasurePositions = ReturnType<typeof createErasurePositions>
export function createErasurePositions() {
  const seqs = new Map<string, number>()
  const keyOf = ({ channelId, userId }: ErasureTarget) => `${channelId}:${userId}`
  return {
    /** The walks over waiting records that were interrupted, by app. */
    walks: new Map<string, WaitingWalk>(),
    get: (target: ErasureTarget) => seqs.get(keyOf(target)) ?? 0,
    set: (target: ErasureTarget, seq: number) => {
      if (seqs.size >= MAX_POSITIONS) seqs.clear()
      seqs.set(keyOf(target), seq)
    },
    delete: (target: ErasureTarget) => void seqs.delete(keyOf(target)),
  }
}

/** Erases these users. A user of whom a part failed is left for the next pass. */
export async function eraseUsers(context: ErasureContext, { appId, userIds }: DeletedUsers) {
  const step = createStep(context, appId)
  await eraseWaiting(context, { appId, userIds })
  const left = { channelIds: new Set<string>(), userIds: new Set<string>() }
  const query = () => ({
    appId,
    userIds: userIds.filter((id) => !left.userIds.has(id)),
    exceptChannelIds: [...left.channelIds],
  })
  const { batch } = context
  const eraseEach = async <T extends ErasureTarget>(
    next: () => Promise<T[]>,
    erase: (target: T) => Promise<void>,
  ) => {
    for (let targets = await next(); targets.length > 0; targets = await next()) {
      for (const target of targets) {
        if (left.channelIds.has(target.channelId) || left.userIds.has(target.userId)) continue
        if (await context.attempt(() => erase(target))) continue
        left.channelIds.add(target.channelId)
        left.userIds.add(target.userId)
      }
    }
  }
  await eraseEach(
    () => batch.run((limit) => step(({ db }) => selectErasureTargets(db, { ...query(), limit }))),
    (target) => eraseTarget(context, target),
  )
  // Reactions to their own messages went with the messages.
  await eraseEach(
    () => batch.run((limit) => step(({ db }) => selectReactions(db, { ...query(), limit }))),
    (own) => batch.run((limit) => step((ctx) => eraseReactions(ctx, own, limit))),
  )
  for (const remove of [deleteUserEvents, deleteInviteUses])
    await repeat(context, (limit) => step(({ db }) => remove(db, { ...query(), limit })))
  // Leaves out users who are not fully erased: only their memberships may be gone.
  await step((ctx) => finishErasure(ctx, { ...query(), mayWait: context.mayWait }))
}

/**
 * Empties what waits in imports that are not finished. A walk that was interrupted is continued; it
 * is of all deleted users of the app, so another one is made only for who was deleted meanwhile.
 */
async function eraseWaiting(context: ErasureContext, users: DeletedUsers) {
  const { appId } = users
  const { batch, positions } = context
  const step = createStep(context, appId)
  for (;;) {
    const begun = positions.walks.get(appId) ?? (await step(({ db }) => beginWalk(db)))
    for (let walk: WaitingWalk | null = begun; walk !== null; ) {
      positions.walks.set(appId, walk)
      const from: WaitingWalk = walk
      walk = await batch.run((limit) =>
        step(({ db }) => emptyWaiting(db, { appId, walk: from, limit: limit * ROWS_EACH })),
      )
    }
    positions.walks.delete(appId)
    if (!(await step(({ db }) => hasMissed(db, { ...users, walk: begun })))) return
  }
}

/** Erases what a user has left in one channel, their reactions excepted. */
async function eraseTarget(context: ErasureContext, { state, ...target }: FoundTarget) {
  const { appId, channelId: id } = target
  const step = createStep(context, appId)
  // Nobody sees it any more: its content would go a little later.
  if (state === 'deleted') await purgeContent(context, { appId, id })
  await repeat(context, (limit) => step(({ db }) => removeReadMarks(db, target, limit)))
  const { ofChannel, ofMembers } = await step(({ db }) => selectNamingTopics(db, target))
  const places = [ofChannel, ...ofMembers].map((topic) => ({ ...target, channelId: topic }))
  const eraseEvents = state === 'live' ? eraseNames : eraseTexts
  for (const place of places) {
    const topic = place.channelId
    await walk(context, place, (afterOffset, limit) =>
      step((ctx) => eraseEvents(ctx, target, { topic, afterOffset, limit })),
    )
  }
  const eraseMessages = state === 'live' ? eraseInChannel : eraseUnseen
  await walk(context, target, (afterSeq, limit) =>
    step((ctx) => eraseMessages(ctx, target, { afterSeq, limit })),
  )
  for (const place of [target, ...places]) context.positions.delete(place)
}

/** Steps from where the last pass was, until there is nothing to go on after. */
async function walk(
  { batch, positions }: ErasureContext,
  place: ErasureTarget,
  erase: (after: number, limit: number) => Promise<number | null>,
) {
  const eraseNext = () => batch.run((limit) => erase(positions.get(place), limit))
  for (let last = await eraseNext(); last !== null; last = await eraseNext()) {
    positions.set(place, last)
  }
}

const createStep =
  ({ db, publisher, checkpoint }: ErasureContext, appId: string) =>
  <T>(work: (ctx: Transaction) => Promise<T>) => {
    checkpoint()
    return db.use((connection, signal) =>
      runInTransaction(connection, { appId, signal, publisher }, work),
    )
  }

async function repeat(
  { batch }: ErasureContext,
  remove: (limit: number) => Promise<{ count: number }>,
) {
  while ((await batch.run(remove)).count > 0);
}
