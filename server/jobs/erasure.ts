import { runInTransaction, type Transaction } from '../core/context.ts'
import type { EventPublisher } from '../core/event-bus.ts'
import type { Db } from '../db/client.ts'
import {
  deleteUserEvents,
  type ErasureTarget,
  eraseInChannel,
  finishErasure,
  removeReadMarks,
  selectErasureTargets,
} from '../features/users/erase.ts'
import { eraseReactions, selectReactions } from '../features/users/erase-reactions.ts'
import type { BatchSize } from './batch-size.ts'

/** How many messages, reactions or other rows a step erases at most. */
export const STEP = 200
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
 * Up to which seq a deleted user's messages in a channel are erased, by channel and user. A deleted
 * user writes no more and seqs only grow, so a position never becomes wrong.
 */
export type ErasurePositions = ReturnType<typeof createErasurePositions>
export function createErasurePositions() {
  const seqs = new Map<string, number>()
  const keyOf = ({ channelId, userId }: ErasureTarget) => `${channelId}:${userId}`
  return {
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
  await repeat(context, (limit) => step(({ db }) => deleteUserEvents(db, { ...query(), limit })))
  // Leaves out users who are not fully erased: only their memberships may be gone.
  await step((ctx) => finishErasure(ctx, { ...query(), mayWait: context.mayWait }))
}

/** Erases what a user has left in one channel, their reactions excepted. */
async function eraseTarget(context: ErasureContext, target: ErasureTarget) {
  const { batch, positions } = context
  const step = createStep(context, target.appId)
  await repeat(context, (limit) => step(({ db }) => removeReadMarks(db, target, limit)))
  const eraseNext = () =>
    batch.run((limit) =>
      step((ctx) => eraseInChannel(ctx, target, { afterSeq: positions.get(target), limit })),
    )
  for (let seq = await eraseNext(); seq !== null; seq = await eraseNext()) {
    positions.set(target, seq)
  }
  positions.delete(target)
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
