import { topics } from '@parley/contract'
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
import {
  eraseNames,
  eraseTexts,
  passOthers,
  selectNamingTopics,
} from '../features/users/erase-names.ts'
import { eraseReactions, selectReactions } from '../features/users/erase-reactions.ts'
import {
  emptyWaiting,
  eraseUnseen,
  selectDeletions,
  WALK_START,
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

/** A walk over the waiting records of an app, null at its end; of these deletions at least. */
type Waiting = { walk: WaitingWalk | null; deletions: ReadonlySet<string> }

/**
 * Up to which seq a deleted user's messages in a channel are erased, and up to which offset their
 * name is out of a topic, by what is done: in a channel that is deleted meanwhile it is more. A
 * deleted user writes no more and both only grow, so a position never becomes wrong.
 */
export type ErasurePositions = ReturnType<typeof createErasurePositions>
export function createErasurePositions() {
  const seqs = new Map<string, number>()
  return {
    /** The walks over waiting records, by app, until its users are erased. */
    walks: new Map<string, Waiting>(),
    get: (place: string) => seqs.get(place) ?? 0,
    set: (place: string, seq: number) => {
      if (seqs.size >= MAX_POSITIONS) seqs.clear()
      seqs.set(place, seq)
    },
    delete: (place: string) => void seqs.delete(place),
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
  const erased = await step((ctx) => finishErasure(ctx, { ...query(), mayWait: context.mayWait }))
  if (erased === userIds.length) context.positions.walks.delete(appId)
}

/**
 * Empties what waits in imports that are not finished, once, however often the rest is interrupted:
 * nothing of deleted users is stored any more. A walk is of all deleted users of the app, so that
 * another one is made only for who was deleted since it began.
 */
async function eraseWaiting(context: ErasureContext, users: DeletedUsers) {
  const { appId } = users
  const { batch, positions } = context
  const { walks } = positions
  const step = createStep(context, appId)
  const deletions = await step(({ db }) => selectDeletions(db, users))
  for (;;) {
    const known = walks.get(appId)
    if (known?.walk === null && deletions.every((one) => known.deletions.has(one))) return
    const begun = known?.walk ? known : { walk: WALK_START, deletions: new Set(deletions) }
    for (let walk: WaitingWalk | null = begun.walk; walk !== null; ) {
      walks.set(appId, { ...begun, walk })
      const from: WaitingWalk = walk
      walk = await batch.run((limit) =>
        step(({ db }) => emptyWaiting(db, { appId, walk: from, limit: limit * ROWS_EACH })),
      )
    }
    if (walks.size >= MAX_POSITIONS) walks.clear()
    const all = [...(known?.deletions ?? []), ...begun.deletions]
    walks.set(appId, { walk: null, deletions: new Set(all.slice(-MAX_POSITIONS)) })
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
  const placeOf = (topic: string) => JSON.stringify([state, id, target.userId, topic])
  const eraseEvents = state === 'live' ? eraseNames : eraseTexts
  // The events of their own topic are deleted.
  const topicsOfOthers = ofMembers.filter((topic) => topic !== topics.user(appId, target.userId))
  for (const topic of [ofChannel, ...topicsOfOthers]) {
    await walk(context, placeOf(topic), async (afterOffset, limit) => {
      const slice = { topic, afterOffset, limit: limit * ROWS_EACH }
      const { after, isDue } = await step(({ db }) => passOthers(db, target, slice))
      if (!isDue) return after
      const rewriting = await step((ctx) =>
        eraseEvents(ctx, target, { topic, afterOffset: after, limit }),
      )
      if (rewriting.isRewritten) context.publisher.broadcast({ kind: 'rewritten', topic })
      return rewriting.after
    })
  }
  const eraseMessages = state === 'live' ? eraseInChannel : eraseUnseen
  await walk(context, placeOf(''), (afterSeq, limit) =>
    step((ctx) => eraseMessages(ctx, target, { afterSeq, limit })),
  )
  for (const topic of ['', ofChannel, ...topicsOfOthers]) context.positions.delete(placeOf(topic))
}

/** Steps from where the last pass was, until there is nothing to go on after. */
async function walk(
  { batch, positions }: ErasureContext,
  place: string,
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
