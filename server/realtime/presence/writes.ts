import { answerBatch } from '../../core/settle-batch.ts'
import { userKey } from '../../core/user-ref.ts'
import type { Db } from '../../db/client.ts'
import { coalesce } from '../coalesce.ts'
import { createTurns } from '../turns.ts'
import type { PresenceChange } from './queries.ts'

/** Writes that wait for locks use at most such a part of the pool. */
const POOL_PARTS = 3

/**
 * Writes the last change of each user with one statement. Unless it `waitsForLocks`, users whose
 * row others have locked are left out, and their changes returned.
 */
type WritePresence = (
  changes: PresenceChange[],
  options: { waitsForLocks: boolean },
) => Promise<readonly PresenceChange[]>

/**
 * Joins concurrent changes into statements of many users, which never wait for locks. Users whose
 * rows others have locked are written apart, those of an app one after the other, and nobody else
 * waits for them. The changes of a user keep their order.
 */
export function createPresenceWrites(write: WritePresence, { poolSize }: Pick<Db, 'poolSize'>) {
  /** How many changes of a user wait for their row. */
  const waiting = new Map<string, number>()
  const turns = createTurns(Math.max(1, Math.floor(poolSize / POOL_PARTS)))
  const oneByOne = coalesce(
    async (changes: PresenceChange[], appId) => {
      await turns(appId, () => write(changes, { waitsForLocks: true }))
      return changes
    },
    { maxBatch: 1, groupOf: ({ user }) => user.appId },
  )
  const apart = async (change: PresenceChange) => {
    const key = userKey(change.user)
    waiting.set(key, (waiting.get(key) ?? 0) + 1)
    try {
      await oneByOne(change)
    } finally {
      const left = (waiting.get(key) ?? 1) - 1
      if (left > 0) waiting.set(key, left)
      else waiting.delete(key)
    }
  }
  // Not in halves: all changes are the same size, so half a batch would take too long as well.
  const together = coalesce(
    async (changes: PresenceChange[]) => {
      const isWaiting = ({ user }: PresenceChange) => waiting.has(userKey(user))
      const [behind, free] = [changes.filter(isWaiting), changes.filter((each) => !isWaiting(each))]
      const locked = free.length > 0 ? await write(free, { waitsForLocks: false }) : []
      const undone = new Set([...behind, ...locked])
      // Queued here, before a later change of the same user is looked at.
      return changes.map((change) => ({ written: undone.has(change) ? apart(change) : undefined }))
    },
    { maxBatch: 1_000, answer: answerBatch },
  )
  /** Resolves once the change, or a later one of the same user, is written. */
  return async (change: PresenceChange) => {
    const { written } = await together(change)
    await written
  }
}
