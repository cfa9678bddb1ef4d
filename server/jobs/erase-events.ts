import type { FoundTarget } from '../features/users/erase.ts'
import { eraseNames, eraseTexts, passOthers } from '../features/users/erase-names.ts'
import {
  createStep,
  type ErasureContext,
  type ErasurePositions,
  type EventWalk,
  MAX_EVENT_WALKS,
  ROWS_EACH,
} from './erasure-context.ts'

/** The names of the deletions of users, by their ids. */
export type Deletions = ReadonlyMap<string, string>
type ErasedTopic = { topic: string; due: Deletions }

/**
 * Removes the names of deleted users from the events of a topic, in one walk for all users of the
 * channel who are deleted by then, however often it is interrupted.
 */
export async function eraseFromTopic(
  context: ErasureContext,
  found: FoundTarget,
  { topic, due }: ErasedTopic,
) {
  const { state, ...target } = found
  const { batch, publisher } = context
  const { eventWalks } = context.positions
  const step = createStep(context, target.appId)
  const walkKey = walkKeyOf(found, topic)
  const eraseEvents = state === 'active' ? eraseNames : eraseTexts
  const goOn = async (walk: EventWalk, afterOffset: number, limit: number): Promise<EventWalk> => {
    const named = { ...target, userIds: [...walk.deletions.keys()] }
    const slice = { topic, afterOffset, limit: limit * ROWS_EACH }
    const { after, isDue } = await step(({ db }) => passOthers(db, named, slice))
    if (!isDue) return { ...walk, after }
    const erasing = await step((ctx) =>
      eraseEvents(ctx, named, { topic, afterOffset: after, limit }),
    )
    if (erasing.isRewritten) publisher.broadcast({ kind: 'rewritten', topic })
    // Users whose rows were locked get another walk, which waits for them.
    const seen = new Set([target.userId, ...erasing.userIds])
    const deletions = new Map([...walk.deletions].filter(([userId]) => seen.has(userId)))
    return { after: erasing.after, deletions }
  }
  const isFor = ({ deletions: known }: EventWalk) =>
    known.get(target.userId) === due.get(target.userId)
  for (;;) {
    const known = eventWalks.get(walkKey)
    if (known?.after === null && isFor(known)) return
    if (eventWalks.size >= MAX_EVENT_WALKS) eventWalks.clear()
    let walk: EventWalk =
      known && known.after !== null ? known : { after: 0, deletions: new Map(due) }
    while (walk.after !== null) {
      eventWalks.set(walkKey, walk)
      const { after } = walk
      const from: EventWalk = walk
      walk = await batch.run((limit) => goOn(from, after, limit))
    }
    eventWalks.set(walkKey, walk)
  }
}

/** Forgets the walk, since the user has nothing left in the channel. */
export function leaveWalk({ eventWalks }: ErasurePositions, found: FoundTarget, topic: string) {
  const walkKey = walkKeyOf(found, topic)
  const walk = eventWalks.get(walkKey)
  walk?.deletions.delete(found.userId)
  if (walk?.deletions.size === 0) eventWalks.delete(walkKey)
}

/** The state is part of the key: after its channel is deleted, a walk has more to do. */
const walkKeyOf = ({ state, channelId }: FoundTarget, topic: string) =>
  JSON.stringify([state, channelId, topic])
