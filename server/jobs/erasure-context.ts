import { runInTransaction, type Transaction } from '../core/context.ts'
import type { EventPublisher } from '../core/event-bus.ts'
import type { Db } from '../db/client.ts'
import type { WaitingWalk } from '../features/users/erase-unseen.ts'
import type { BatchSize } from './batch-size.ts'

/** How many messages, reactions or other rows a step erases at most. */
export const STEP = 200
/** Writes to the channel wait for a step, which should take less than twice this. */
export const STEP_MS = 50
/**
 * The waiting records of an import are mostly only looked at, so a step takes this many times more.
 */
export const ROWS_EACH = 5
/** The most interrupted erasures that are remembered: others start again. */
export const MAX_POSITIONS = 10_000
/** The same for walks over events. Each of them remembers up to a thousand users. */
export const MAX_EVENT_WALKS = 100

export type ErasureContext = {
  db: Pick<Db, 'use'>
  publisher: EventPublisher
  /** Throws when there is no time for another step. Completed steps stay done. */
  checkpoint: () => void
  /** Runs a part that no other part depends on. Returns false if it failed, which was reported. */
  attempt: (work: () => Promise<void>) => Promise<boolean>
  batch: BatchSize
  positions: ErasurePositions
  /** Whether to wait for users whose rows others have locked, instead of leaving them out. */
  waitsForLocks: boolean
}

/** A walk over the waiting records of an app, null at its end, for at least these deletions. */
type WaitingErasure = { walk: WaitingWalk | null; deletions: ReadonlySet<string> }

/** A walk over the events of a topic, null at its end, for these deletions by user id. */
export type EventWalk = { after: number | null; deletions: Map<string, string> }

/**
 * How far erasures have come, by what is done: the seq up to which a deleted user's messages in a
 * channel are erased, and the offset up to which names are out of a topic. Both only grow, and a
 * deleted user writes no more, so a position never becomes wrong.
 */
export type ErasurePositions = ReturnType<typeof createErasurePositions>
export function createErasurePositions() {
  const seqs = new Map<string, number>()
  return {
    /** The walks over waiting records, by app, until its users are erased. */
    walks: new Map<string, WaitingErasure>(),
    /** The walks over events, until the users of the channel are erased. */
    eventWalks: new Map<string, EventWalk>(),
    get: (key: string) => seqs.get(key) ?? 0,
    set: (key: string, seq: number) => {
      if (seqs.size >= MAX_POSITIONS) seqs.clear()
      seqs.set(key, seq)
    },
    delete: (key: string) => void seqs.delete(key),
  }
}

/** Runs steps of an erasure, each in a transaction of its own. */
export const createStep =
  ({ db, publisher, checkpoint }: ErasureContext, appId: string) =>
  <T>(work: (ctx: Transaction) => Promise<T>) => {
    checkpoint()
    return db.use((connection, signal) =>
      runInTransaction(connection, { appId, signal, publisher }, work),
    )
  }
