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
/** For how long a change is told again that could not be sent to the users of this node. */
const RETRY_MS = 600_000

/**
 * Finds the new names and images of which the users of this node may not have been told, as many as
 * changed in that time.
 */
export class MissedProfiles {
  /** Since when, by the monotonic clock; undefined if none was missed. */
  #since: number | undefined
  /** Users of whom a note arrived during the search, which may be newer than what it finds. */
  readonly #noted = new Set<string>()
  /** Users whose last change could not be sent. */
  #lost = new Map<string, UserRef>()

  constructor(readonly options: MissedProfilesOptions) {}

  /** The users of this node are told of this change. */
  record({ appId, user }: ProfileChange) {
    this.#noted.add(userKey({ appId, userId: user.id }))
  }

  /** The change could not be sent to the users of this node: the next search finds it. */
  handleLost({ appId, user }: ProfileChange) {
    const lost = { appId, userId: user.id }
    this.#lost.set(userKey(lost), lost)
  }

  /** Changes of the last milliseconds may not have been told. */
  missed(milliseconds: number) {
    const since = performance.now() - milliseconds - OVERLAP_MS
    this.#since = Math.min(since, this.#since ?? since)
  }

  /** Tells what was missed. If that fails, it is still missed. */
  async catchUp() {
    const since = this.#since
    const lost = this.#lost
    if (since === undefined && lost.size === 0) return
    this.#since = undefined
    this.#lost = new Map()
    this.#noted.clear()
    const { db, notify } = this.options
    try {
      const users = await db.use((db) => selectChanged(db, { since, lost: [...lost.values()] }))
      for (const { appId, userId, name, image } of users) {
        if (this.#noted.has(userKey({ appId, userId }))) continue
        notify({ appId, user: { id: userId, name, image } })
      }
    } catch (error) {
      if (since !== undefined) this.#since = Math.min(since, this.#since ?? since)
      this.#lost = new Map([...lost, ...this.#lost])
      throw error
    }
  }
}

type ChangedUser = UserRef & { name: string; image: string | null }

function selectChanged(db: Tx, { since, lost }: { since: number | undefined; lost: UserRef[] }) {
  const milliseconds = since === undefined ? null : performance.now() - since
  const appIds = lost.map(({ appId }) => appId)
  const userIds = lost.map(({ userId }) => userId)
  return db<ChangedUser[]>`
    select u.app_id, u.id as user_id, u.display_name as name, u.image
    from users u
    where u.profile_changed_at > now() - ${milliseconds} * interval '1 millisecond'
      and u.deleted_at is null
    union
    select u.app_id, u.id as user_id, u.display_name as name, u.image
    from unnest(${appIds}::uuid[], ${userIds}::text[]) as given (app_id, user_id)
    join users u on u.app_id = given.app_id and u.id = given.user_id
    where u.profile_changed_at > now() - ${RETRY_MS} * interval '1 millisecond'
      and u.deleted_at is null`
}
