import { type UserRef, userKey } from '../core/user-ref.ts'
import type { Db, Tx } from '../db/client.ts'
import type { ProfileChange } from './broker.ts'

type MissedProfilesOptions = {
  db: Db
  /** Sends the change to the users of this node. */
  notify: (change: ProfileChange) => void
}

/** Overlap: transactions may commit after the gap began although their changes are older. */
const OVERLAP_MS = 15_000

/**
 * Finds the new names and images of which the users of this node may not have been told, as many as
 * changed in that time.
 */
export class MissedProfiles {
  /** Since when, by the monotonic clock; undefined if none was missed. */
  #since: number | undefined
  /** Users of whom a note arrived during the search, which may be newer than what it finds. */
  readonly #noted = new Set<string>()

  constructor(readonly options: MissedProfilesOptions) {}

  /** The users of this node are told of this change. */
  record({ appId, user }: ProfileChange) {
    this.#noted.add(userKey({ appId, userId: user.id }))
  }

  /** Changes of the last milliseconds may not have been told. */
  missed(milliseconds: number) {
    const since = performance.now() - milliseconds - OVERLAP_MS
    this.#since = Math.min(since, this.#since ?? since)
  }

  /** Tells what was missed. If that fails, it is still missed. */
  async catchUp() {
    const since = this.#since
    if (since === undefined) return
    this.#since = undefined
    this.#noted.clear()
    const { db, notify } = this.options
    const elapsedMs = performance.now() - since
    try {
      const users = await db.use((db) => selectChanged(db, elapsedMs))
      for (const { appId, userId, name, image } of users) {
        if (this.#noted.has(userKey({ appId, userId }))) continue
        notify({ appId, user: { id: userId, name, image } })
      }
    } catch (error) {
      this.#since = Math.min(since, this.#since ?? since)
      throw error
    }
  }
}

type ChangedUser = UserRef & { name: string; image: string | null }

const selectChanged = (db: Tx, milliseconds: number) => db<ChangedUser[]>`
  select u.app_id, u.id as user_id, u.display_name as name, u.image
  from users u
  where u.profile_changed_at > now() - ${milliseconds} * interval '1 millisecond'
    and u.deleted_at is null`
