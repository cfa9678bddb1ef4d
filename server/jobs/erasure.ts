import { topics } from '@parley/contract'
import type { DeletedUsers } from '../core/erasure.ts'
import type { Tx } from '../db/client.ts'
import {
  deleteUserEvents,
  type ErasureTarget,
  eraseInChannel,
  type FoundTarget,
  finishErasure,
  removeReadMarks,
  selectErasureTargets,
  type TargetQuery,
} from '../features/users/erase.ts'
import { deleteInviteUses, nameAppOfUses } from '../features/users/erase-invites.ts'
import { selectDeletedIn, selectNamingTopics } from '../features/users/erase-names.ts'
import { eraseReactions, selectReactions } from '../features/users/erase-reactions.ts'
import {
  emptyWaiting,
  eraseUnseen,
  selectDeletions,
  WALK_START,
  type WaitingWalk,
} from '../features/users/erase-unseen.ts'
import { type Deletions, eraseFromTopic, leaveWalk } from './erase-events.ts'
import { createStep, type ErasureContext, MAX_POSITIONS, ROWS_EACH } from './erasure-context.ts'
import { purgeContent } from './purge-channels.ts'
import { removeTextsOf } from './text-removals.ts'

/** Erases these users. A user with a failed part is left for the next pass. */
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
  const find = <T>(select: (db: Tx, query: TargetQuery) => Promise<T[]>) =>
    batch.run((limit) => step(({ db }) => select(db, { ...query(), limit })))
  const eraseEach = async <T extends ErasureTarget>(
    targets: T[],
    erase: (target: T) => Promise<void>,
  ) => {
    for (const target of targets) {
      if (left.channelIds.has(target.channelId) || left.userIds.has(target.userId)) continue
      if (await context.attempt(() => erase(target))) continue
      left.channelIds.add(target.channelId)
      left.userIds.add(target.userId)
    }
  }
  const findTargets = () => find(selectErasureTargets)
  for (let found = await findTargets(); found.length > 0; found = await findTargets()) {
    // All users of a channel one after the other, because they share a walk over its events.
    for (const channel of new Map(found.map((target) => [target.channelId, target])).values()) {
      const ref = { ...query(), channelId: channel.channelId }
      const users = await step(({ db }) => selectDeletedIn(db, ref))
      const due = new Map(users.map(({ userId, deletion }) => [userId, deletion]))
      const targets = users.map(({ userId }) => ({ ...channel, userId }))
      await eraseEach(targets, async (target) => {
        await eraseTarget(context, target, due)
        due.delete(target.userId)
      })
    }
  }
  // Reactions to their own messages went with the messages.
  const findReactions = () => find(selectReactions)
  for (let found = await findReactions(); found.length > 0; found = await findReactions()) {
    await eraseEach(found, (own) =>
      batch.run((limit) => step((ctx) => eraseReactions(ctx, own, limit))),
    )
  }
  await step(({ db }) => nameAppOfUses(db, query()))
  for (const remove of [deleteUserEvents, deleteInviteUses])
    await repeat(context, (limit) => step(({ db }) => remove(db, { ...query(), limit })))
  await context.attempt(() => removeTextsOf(context, appId))
  // Leaves out users who are not fully erased: only their memberships may be gone.
  const erased = await step((ctx) =>
    finishErasure(ctx, { ...query(), waitsForLocks: context.waitsForLocks }),
  )
  // The next user of an id must not get the events of its topic that servers keep in memory.
  for (const userId of userIds)
    context.publisher.broadcast({ kind: 'rewritten', topic: topics.user(appId, userId) })
  if (erased === userIds.length) context.positions.walks.delete(appId)
}

/**
 * Empties the waiting records of unfinished imports, once, however often the rest is interrupted:
 * nothing of deleted users is stored there any more. A walk covers all deleted users of the app, so
 * another is made only for users deleted after it began.
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

/** Erases everything that a user has left in a channel, except their reactions. */
async function eraseTarget(context: ErasureContext, found: FoundTarget, due: Deletions) {
  const { state, ...target } = found
  const { appId, channelId: id, userId } = target
  const step = createStep(context, appId)
  // Nobody sees this channel any more, and its content would be purged a little later.
  if (state === 'deleted') await purgeContent(context, { appId, id })
  await repeat(context, (limit) => step(({ db }) => removeReadMarks(db, target, limit)))
  const { ofChannel, ofMembers } = await step(({ db }) => selectNamingTopics(db, target))
  // The events of their own topic are deleted.
  const topicsOfOthers = ofMembers.filter((topic) => topic !== topics.user(appId, userId))
  const walked = [ofChannel, ...topicsOfOthers]
  for (const topic of walked) await eraseFromTopic(context, found, { topic, due })
  const { batch, positions } = context
  const key = JSON.stringify([state, id, userId])
  const eraseMessages = state === 'active' ? eraseInChannel : eraseUnseen
  const eraseNext = () =>
    batch.run((limit) =>
      step((ctx) => eraseMessages(ctx, target, { afterSeq: positions.get(key), limit })),
    )
  for (let last = await eraseNext(); last !== null; last = await eraseNext())
    positions.set(key, last)
  positions.delete(key)
  for (const topic of walked) leaveWalk(positions, found, topic)
}

async function repeat(
  { batch }: ErasureContext,
  remove: (limit: number) => Promise<{ count: number }>,
) {
  while ((await batch.run(remove)).count > 0);
}
